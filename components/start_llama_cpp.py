"""llama.cpp's start command. Flags and their values: common/arg.cpp."""

import shlex

from components.choices import name_of
from components.start_flags import Flags, lines, settings
from sizing.engines.llama_cpp.drafts import method_of
from sizing.engines.llama_cpp.resolving import fullest_replica
from sizing.engines.plan import EnginePlan
from sizing.formats import SAME
from sizing.scenario import KvFormats, Scenario

SHORT_NAMES = {"fp16": "f16", "fp32": "f32"}


def start_llama_cpp(asked: Scenario, planned: EnginePlan) -> str:
    file = _file(asked.model, planned.scenario.weights)
    return lines(f"llama-server --model {shlex.quote(file)}", _flags(asked, planned))


def _flags(asked: Scenario, planned: EnginePlan) -> Flags:
    """-c is shared out over the slots."""
    slots = max(planned.scenario.max_num_seqs or 1, fullest_replica(planned.scenario))
    yield "--ctx-size", str((planned.scenario.context_length or 1) * slots)
    yield "--parallel", str(slots)
    kv = asked.kv_dtype
    for flag, name in zip(
        ("--cache-type-k", "--cache-type-v"), (kv.k, kv.v) if isinstance(kv, KvFormats) else (kv, kv), strict=True
    ):
        plain = SAME.get(name, name)
        if plain not in ("auto", "fp16"):
            yield flag, SHORT_NAMES.get(plain, plain)
    yield from settings(asked.model_copy(update={"max_num_seqs": None}))
    if planned.ranks[0].encoder:
        yield "--mmproj", f"mmproj-{name_of(asked.model)}.gguf"
    if asked.speculative:
        yield "--spec-type", method_of(asked.speculative.method)
        if asked.speculative.model:
            yield "--model-draft", _file(asked.speculative.model, asked.speculative.weights)
        yield "--spec-draft-n-max", str(asked.speculative.tokens)


def _file(model: str, weights: str | None) -> str:
    """Without a type where the file keeps what the checkpoint has."""
    precision = "" if weights in (None, "auto") else f"-{str(weights).removeprefix('gguf-').upper()}"
    return f"{name_of(model)}{precision}.gguf"
