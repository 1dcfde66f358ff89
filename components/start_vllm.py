"""vLLM's start command. Flags and their values: vllm/engine/arg_utils.py."""

import json
import shlex

from components.start_flags import Flags, lines, long, parallel, settings, with_length
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm.rules import release_of, rules_of
from sizing.engines.words import OPTIONS
from sizing.media.limits import TEXT_ONLY
from sizing.scenario import MediaLimits, Scenario, StateFormats

PARALLEL = {
    "tensor_parallel": "--tensor-parallel-size",
    "pipeline_parallel": "--pipeline-parallel-size",
    "data_parallel": "--data-parallel-size",
    "decode_context_parallel": "--decode-context-parallel-size",
}


def start_vllm(asked: Scenario, planned: EnginePlan, loaded_as: Flags) -> str:
    return lines(f"vllm serve {shlex.quote(asked.model)}", _flags(asked, planned, loaded_as))


def _flags(asked: Scenario, planned: EnginePlan, loaded_as: Flags) -> Flags:
    yield from parallel(asked, PARALLEL)
    if asked.expert_parallel:
        yield ("--enable-expert-parallel",)
    yield from loaded_as
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
