"""The command line that starts the engine with a scenario, with no flag that says what it would do anyway."""

import json
import shlex
from collections.abc import Iterator
from typing import Any

from components.choices import name_of, weights_label
from components.format import listed
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm.loaded import TEXT_ONLY
from sizing.engines.vllm.rules import release_of, rules_of
from sizing.engines.words import OPTIONS, Option
from sizing.formats import SAME
from sizing.scenario import KvFormats, MediaLimits, Scenario, StateFormats

Flags = Iterator[tuple[str, ...]]  # a flag and its value, or a flag alone

PARALLEL = {
    "vllm": {
        "tensor_parallel": "--tensor-parallel-size",
        "pipeline_parallel": "--pipeline-parallel-size",
        "data_parallel": "--data-parallel-size",
        "decode_context_parallel": "--decode-context-parallel-size",
    },
    "sglang": {"tensor_parallel": "--tp-size", "pipeline_parallel": "--pp-size", "data_parallel": "--dp-size"},
    "tensorrt-llm": {"tensor_parallel": "--tp_size", "pipeline_parallel": "--pp_size"},
    "llama.cpp": {},
}
LONG_NAMES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
LLAMA_NAMES = {"fp16": "f16", "fp32": "f32"}
ON_LOADING = {"fp8": "fp8", "bnb-nf4": "bitsandbytes", "bnb-int8": "bitsandbytes"}
OPTIONS_FILE = "options.yaml"


def start_command(asked: Scenario, planned: EnginePlan) -> str | None:
    """Ready to paste into a shell; None for what is no server. `planned` is the plan of `asked`."""
    match asked.engine:
        case "vllm":
            return _lines(f"vllm serve {shlex.quote(asked.model)}", _vllm(asked, planned))
        case "sglang":
            start = f"python -m sglang.launch_server --model-path {shlex.quote(asked.model)}"
            return _lines(start, _sglang(asked, planned))
        case "llama.cpp":
            file = f"{name_of(asked.model)}-{planned.scenario.weights.upper()}.gguf"
            return _lines(f"llama-server --model {shlex.quote(file)}", _llama_cpp(asked, planned))
        case "tensorrt-llm":
            return _tensorrt_llm(asked, planned)
        case _:
            return None


def start_notes(asked: Scenario, planned: EnginePlan) -> list[str]:
    """What the command takes for granted."""
    notes = []
    stored = planned.spec.quantization is not None
    if asked.engine == "llama.cpp":
        notes.append("The file is the model converted to GGUF; all GPUs that are visible are used.")
    elif asked.weights not in ("auto", *LONG_NAMES) and (stored or asked.weights not in _loads(asked.engine)):
        notes.append(f"Put a checkpoint in {weights_label(asked.weights)} in the place of {asked.model}.")
    if asked.engine == "vllm" and not _starts(planned):
        longest = planned.scenario.max_model_len or 0
        notes.append(f"With max_model_len {longest:,} this does not start: not one request of that length fits.")
    return notes


def _loads(engine: str) -> tuple[str, ...]:
    """Precisions that the engine makes of a 16-bit checkpoint while it loads it."""
    return tuple(ON_LOADING) if engine == "vllm" else ("fp8",) if engine == "sglang" else ()


def _starts(planned: EnginePlan) -> bool:
    known = planned.ranks[0].usable is not None
    return not known or planned.fits(planned.scenario.max_model_len or 1, 1)


def _lines(start: str, flags: Flags) -> str:
    return " \\\n    ".join([start, *(" ".join([flag, *map(shlex.quote, value)]) for flag, *value in flags)])


def _vllm(asked: Scenario, planned: EnginePlan) -> Flags:
    yield from _parallel(asked)
    if asked.expert_parallel:
        yield ("--enable-expert-parallel",)
    yield from _loaded_as(asked, planned)
    if asked.kv_dtype != "auto":
        yield "--kv-cache-dtype", _long(asked.kv_dtype)
    if isinstance(asked.state_dtype, StateFormats):
        yield "--mamba-cache-dtype", _long(asked.state_dtype.conv)
        yield "--mamba-ssm-cache-dtype", _long(asked.state_dtype.recurrent)
    yield from _settings(_with_length(asked, planned).model_copy(update={"media_limits": None}))
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


def _with_length(asked: Scenario, planned: EnginePlan) -> Scenario:
    """max_model_len is said where the request is longer than the model's own, or one of that length does not fit."""
    scenario = planned.scenario
    if asked.max_model_len is not None:
        return asked
    if not _starts(planned) and planned.fits(scenario.context_length or 1, 1):
        return asked.model_copy(update={"max_model_len": scenario.context_length})
    longer = (scenario.context_length or 0) > (scenario.max_model_len or 0)
    return asked.model_copy(update={"max_model_len": scenario.context_length}) if longer else asked


def _sglang(asked: Scenario, planned: EnginePlan) -> Flags:
    yield from _parallel(asked)
    if asked.dp_attention:
        yield ("--enable-dp-attention",)
    if asked.expert_parallel:
        yield "--ep-size", str(asked.tensor_parallel)
    yield from _loaded_as(asked, planned)
    if asked.kv_dtype != "auto":
        yield "--kv-cache-dtype", _long(asked.kv_dtype)
    yield from _settings(_with_length(asked, planned))
    if asked.speculative:
        yield "--speculative-algorithm", asked.speculative.method.upper()
        yield "--speculative-num-draft-tokens", str(asked.speculative.tokens)
        if asked.speculative.model:
            yield "--speculative-draft-model-path", asked.speculative.model


def _llama_cpp(asked: Scenario, planned: EnginePlan) -> Flags:
    """-c is shared out over the slots."""
    slots = planned.scenario.max_num_seqs or 1
    yield "--ctx-size", str((planned.scenario.context_length or 1) * slots)
    yield "--parallel", str(slots)
    kv = asked.kv_dtype
    for flag, name in zip(
        ("--cache-type-k", "--cache-type-v"), (kv.k, kv.v) if isinstance(kv, KvFormats) else (kv, kv), strict=True
    ):
        plain = SAME.get(name, name)
        if plain not in ("auto", "fp16"):
            yield flag, LLAMA_NAMES.get(plain, plain)
    yield from _settings(asked.model_copy(update={"max_num_seqs": None}))


def _tensorrt_llm(asked: Scenario, planned: EnginePlan) -> str:
    """What has no flag goes into a file of options."""
    flags = [*_parallel(asked), *_settings(_with_length(asked, planned))]
    if asked.expert_parallel:
        flags.append(("--ep_size", str(asked.tensor_parallel)))
    lines = _file_lines(asked)
    start = f"trtllm-serve {shlex.quote(asked.model)}"
    if not lines:
        return _lines(start, iter(flags))
    flags.append(("--extra_llm_api_options", OPTIONS_FILE))
    written = "\n".join(lines)
    return f"cat > {OPTIONS_FILE} <<'END'\n{written}\nEND\n{_lines(start, iter(flags))}"


def _file_lines(asked: Scenario) -> list[str]:
    cache = []
    if asked.kv_dtype != "auto" and not isinstance(asked.kv_dtype, KvFormats):
        cache.append(f"  dtype: {_long(asked.kv_dtype)}")
    if asked.block_size is not None:
        cache.append(f"  tokens_per_block: {asked.block_size}")
    if asked.prefix_caching is not None:
        cache.append(f"  enable_block_reuse: {str(asked.prefix_caching).lower()}")
    lines = ["kv_cache_config:", *cache] if cache else []
    if asked.dp_attention:
        lines.append("enable_attention_dp: true")
    if asked.enforce_eager:
        lines.append("cuda_graph_config: null")
    if asked.speculative:
        method = {"mtp": "MTP", "eagle3": "Eagle", "ngram": "NGram"}.get(asked.speculative.method, "MTP")
        lines += ["speculative_config:", f"  decoding_type: {method}"]
    return lines


def _parallel(asked: Scenario) -> Flags:
    for field, flag in PARALLEL[asked.engine].items():
        if getattr(asked, field) > 1:
            yield flag, str(getattr(asked, field))


def _loaded_as(asked: Scenario, planned: EnginePlan) -> Flags:
    if planned.spec.quantization is None and asked.weights in _loads(asked.engine):
        yield "--quantization", ON_LOADING[asked.weights]
    elif asked.weights in LONG_NAMES and asked.weights != planned.spec.dtype:
        yield "--dtype", LONG_NAMES[asked.weights]


def _settings(asked: Scenario) -> Flags:
    """The engine's settings that were set."""
    for field, option in OPTIONS[asked.engine].items():
        value = getattr(asked, field)
        if value is not None:
            yield from _setting(field, option, value)


def _setting(field: str, option: Option, value: Any) -> Flags:
    if isinstance(value, bool):
        words = (option.flag if value else option.off).split()
        if words:
            yield tuple(words)
    elif option.flag:
        yield option.flag, _text(field, value)


def _text(field: str, value: Any) -> str:
    if field == "tensor_split":
        return listed(value)
    return f"{value / 2**30:g}" if field == "cpu_offload_bytes" else str(value)


def _long(name: Any) -> str:
    return LONG_NAMES.get(name, name) if isinstance(name, str) else name.k
