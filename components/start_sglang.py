"""SGLang's start command. Flags and their values: sglang/srt/server_args.py, and arg_groups/fields from 0.5.19 on."""

import shlex

from components.start_flags import Flags, lines, long, parallel, settings, with_length
from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.engines.sglang.loading import adapted
from sizing.engines.sglang.rules import Rules, release_of, rules_of
from sizing.scenario import Scenario, Speculative, StateFormats

PARALLEL = {
    "tensor_parallel": "--tp-size",
    "pipeline_parallel": "--pp-size",
    "data_parallel": "--dp-size",
    "decode_context_parallel": "--dcp-size",
}
FP4_NAME_SINCE = "0.5.16"  # fp4_e2m1 is called fp4_mx_block16 from then on
ATTENTION_RANKS_SINCE = "0.5.22"  # --attn-dp-size; --enable-dp-attention is deprecated
ALGORITHMS = {"mtp": "NEXTN"}


def start_sglang(asked: Scenario, planned: EnginePlan, loaded_as: Flags) -> str:
    start = f"python -m sglang.launch_server --model-path {shlex.quote(asked.model)}"
    return lines(start, _flags(asked, planned, loaded_as))


def _flags(asked: Scenario, planned: EnginePlan, loaded_as: Flags) -> Flags:
    rules = rules_of(release_of(planned.scenario.engine_version)[1])
    yield from _parallel(asked, rules)
    yield from loaded_as
    if asked.kv_dtype != "auto":
        yield "--kv-cache-dtype", kv_name(long(asked.kv_dtype), rules)
    if isinstance(asked.state_dtype, StateFormats):
        yield "--mamba-ssm-dtype", long(asked.state_dtype.recurrent)
    yield from settings(with_length(asked, planned))
    if asked.lora:
        yield ("--enable-lora",)
        yield "--max-loras-per-batch", str(asked.lora.max_loras)
        yield "--max-lora-rank", str(asked.lora.rank)
        yield "--lora-target-modules", *_modules(planned.spec)
    if asked.speculative:
        yield from _drafts(asked.speculative)


def _parallel(asked: Scenario, rules: Rules) -> Flags:
    if not asked.dp_attention:
        yield from parallel(asked, PARALLEL)
    elif rules.since(ATTENTION_RANKS_SINCE):
        yield from parallel(asked, PARALLEL | {"data_parallel": "--attn-dp-size"})
    else:
        yield from parallel(asked, PARALLEL)
        yield ("--enable-dp-attention",)
    if asked.expert_parallel:
        yield "--ep-size", str(asked.tensor_parallel)


def kv_name(name: str, rules: Rules) -> str:
    """The option's own name of a format: fp8 is not one, and fp4's was changed."""
    renamed = "fp4_mx_block16" if rules.since(FP4_NAME_SINCE) else "fp4_e2m1"
    return {"fp8": "fp8_e4m3", "fp4_e2m1": renamed}.get(name, name)


def _modules(spec: ModelSpec) -> list[str]:
    """The linear layers whose slots are counted."""
    kinds = adapted(spec)
    found = {
        tensor.name.split(".")[-2]
        for run in spec.layers
        for tensor in run.layer.tensors
        if tensor.kind in kinds and len(tensor.shape) == 2 and "." in tensor.name
    }
    return sorted(found)


def _drafts(drafter: Speculative) -> Flags:
    """A draft model's steps need all three numbers, and verify one token more than they propose."""
    method = drafter.method.lower()
    yield "--speculative-algorithm", ALGORITHMS.get(method, method.upper())
    if drafter.model:
        yield "--speculative-draft-model-path", drafter.model
    if method == "ngram":
        yield "--speculative-num-draft-tokens", str(drafter.tokens)
    else:
        yield "--speculative-num-steps", str(drafter.tokens)
        yield "--speculative-eagle-topk", "1"
        yield "--speculative-num-draft-tokens", str(drafter.tokens + 1)
