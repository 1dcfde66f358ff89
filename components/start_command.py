"""The command line that starts the engine with a scenario, with no flag that says what it would do anyway."""

import json
import shlex
from collections.abc import Mapping

from components.choices import name_of, weights_label
from components.start_flags import LONG_NAMES, Flags, lines, long, parallel, settings, starts, with_length
from components.start_sglang import start_sglang
from components.start_tensorrt_llm import start_tensorrt_llm
from sizing.engines.llama_cpp.drafts import method_of
from sizing.engines.llama_cpp.resolving import fullest_replica
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm.rules import release_of, rules_of
from sizing.engines.words import OPTIONS
from sizing.formats import SAME
from sizing.media.limits import TEXT_ONLY
from sizing.scenario import KvFormats, MediaLimits, Scenario, StateFormats
from sizing.versions import at_least
from sizing.weights.precisions import GGUF

PARALLEL = {
    "tensor_parallel": "--tensor-parallel-size",
    "pipeline_parallel": "--pipeline-parallel-size",
    "data_parallel": "--data-parallel-size",
    "decode_context_parallel": "--decode-context-parallel-size",
}
LLAMA_NAMES = {"fp16": "f16", "fp32": "f32"}
# vllm/model_executor/layers/quantization/__init__.py of 0.8.5 to 0.33.0: from a release on, newest first.
VLLM_LOADS = {
    "0.28.0": {"fp8": "fp8_per_channel", "fp8-block": "fp8_per_block", "int8": "int8_per_channel_weight_only"},
    "0.24.0": {"fp8": "fp8_per_channel", "fp8-block": "fp8_per_block", "bnb-nf4": "bitsandbytes"},
    "0.20.0": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block", "bnb-nf4": "bitsandbytes"},
    "0": {"fp8": "fp8", "bnb-nf4": "bitsandbytes"},
}


def start_command(asked: Scenario, planned: EnginePlan) -> str | None:
    """Ready to paste into a shell; None for what is no server. `planned` is the plan of `asked`."""
    match asked.engine:
        case "vllm":
            return lines(f"vllm serve {shlex.quote(asked.model)}", _vllm(asked, planned))
        case "sglang":
            return start_sglang(asked, planned, _loaded_as(asked, planned))
        case "llama.cpp":
            file = f"{name_of(asked.model)}-{planned.scenario.weights.upper()}.gguf"
            return lines(f"llama-server --model {shlex.quote(file)}", _llama_cpp(asked, planned))
        case "tensorrt-llm":
            return start_tensorrt_llm(asked, planned)
        case _:
            return None


def start_notes(asked: Scenario, planned: EnginePlan) -> list[str]:
    """What the command takes for granted."""
    notes = []
    stored = planned.spec.quantization is not None
    if asked.engine == "llama.cpp":
        notes.append("The file is the model converted to GGUF; all GPUs that are visible are used.")
    elif asked.weights not in ("auto", *LONG_NAMES) and (stored or asked.weights not in _loads(planned)):
        notes.append(f"Put a checkpoint in {weights_label(asked.weights)} in the place of {asked.model}.")
    drafter = asked.speculative
    if asked.engine != "llama.cpp" and drafter and drafter.model and drafter.weights:
        notes.append(f"Put a checkpoint in {weights_label(drafter.weights)} in the place of {drafter.model}.")
    notes += _without_loader(planned) if asked.engine == "vllm" else []
    if asked.engine == "vllm" and not starts(planned):
        longest = planned.scenario.max_model_len or 0
        notes.append(f"With max_model_len {longest:,} this does not start: not one request of that length fits.")
    return notes


def _without_loader(planned: EnginePlan) -> list[str]:
    """Formats of files that vLLM once read (quantization/__init__.py of 0.23.0 to 0.28.0)."""
    scenario = planned.scenario
    name, gone = ("GGUF", "0.24.0") if scenario.weights in GGUF else ("bitsandbytes", "0.28.0")
    read = scenario.weights in GGUF or scenario.weights.startswith("bnb-")
    if not read or not at_least(release_of(scenario.engine_version)[1], gone):
        return []
    return [f"vLLM reads no {name} checkpoints from {gone} on."]


def _loads(planned: EnginePlan) -> Mapping[str, str]:
    """Precisions that the engine makes of a 16-bit checkpoint while it loads it, and its own word for each."""
    scenario = planned.scenario
    if scenario.engine != "vllm":
        return {"fp8": "fp8"} if scenario.engine == "sglang" else {}
    version = release_of(scenario.engine_version)[1]
    return next(found for since, found in VLLM_LOADS.items() if at_least(version, since))


def _vllm(asked: Scenario, planned: EnginePlan) -> Flags:
    yield from parallel(asked, PARALLEL)
    if asked.expert_parallel:
        yield ("--enable-expert-parallel",)
    yield from _loaded_as(asked, planned)
    if asked.kv_dtype != "auto":
        yield "--kv-cache-dtype", long(asked.kv_dtype)
    if isinstance(asked.state_dtype, StateFormats):
        yield "--mamba-cache-dtype", long(asked.state_dtype.conv)
        yield "--mamba-ssm-cache-dtype", long(asked.state_dtype.recurrent)
    yield from settings(with_length(asked, planned).model_copy(update={"media_limits": None}))
    yield from _media_limits(asked.media_limits, planned.scenario.engine_version)
    if asked.available_kv_bytes is not None:
        yield "--kv-cache-memory-bytes", str(asked.available_kv_bytes)
    if asked.speculative:
        draft = {"method": asked.speculative.method, "num_speculative_tokens": asked.speculative.tokens}
        named = {"model": asked.speculative.model} if asked.speculative.model else {}
        yield "--speculative-config", json.dumps(draft | named)
    if asked.lora:
        yield ("--enable-lora",)
        yield "--max-loras", str(asked.lora.max_loras)
        yield "--max-lora-rank", str(asked.lora.rank)


def _media_limits(limits: MediaLimits | None, release: str | None) -> Flags:
    """For text alone releases have a flag that fits every model (vllm/config/multimodal.py)."""
    if limits == TEXT_ONLY and rules_of(release_of(release)[1]).text_only_flag:
        yield ("--language-model-only",)
    elif limits is not None:
        yield OPTIONS["vllm"]["media_limits"].flag, json.dumps(limits.model_dump(exclude_none=True))


def _llama_cpp(asked: Scenario, planned: EnginePlan) -> Flags:
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
            yield flag, LLAMA_NAMES.get(plain, plain)
    yield from settings(asked.model_copy(update={"max_num_seqs": None}))
    if planned.ranks[0].encoder:
        yield "--mmproj", f"mmproj-{name_of(asked.model)}.gguf"
    if asked.speculative:
        yield "--spec-type", method_of(asked.speculative.method)
        if asked.speculative.model:
            yield "--model-draft", _draft_file(asked.speculative.model, asked.speculative.weights)
        yield "--spec-draft-n-max", str(asked.speculative.tokens)


def _draft_file(model: str, weights: str | None) -> str:
    precision = f"-{weights.upper()}" if weights else ""
    return f"{name_of(model)}{precision}.gguf"


def _loaded_as(asked: Scenario, planned: EnginePlan) -> Flags:
    made = _loads(planned)
    if planned.spec.quantization is None and asked.weights in made:
        yield "--quantization", made[asked.weights]
    elif asked.weights in LONG_NAMES and asked.weights != planned.spec.dtype:
        yield "--dtype", LONG_NAMES[asked.weights]
