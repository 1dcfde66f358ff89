"""A scenario with TensorRT-LLM's defaults put in.

A Scenario's words in TensorRT-LLM's: max_model_len is max_seq_len, max_num_seqs max_batch_size, max_num_batched_tokens
max_num_tokens, block_size tokens_per_block, memory_fraction free_gpu_memory_fraction, prefix_caching
enable_block_reuse, dp_attention enable_attention_dp. hybrid_kv_cache_manager: max_attention_window as the config's
layer types say, which only models of the second manager have by default. available_kv_bytes is what the cache may have,
the fraction taken.
"""

from dataclasses import dataclass

from model_catalog.spec import Attention, CompressedAttention, CrossAttention, ModelSpec, Recurrent
from sizing.cache_formats import CacheFormats
from sizing.engines.tensorrt_llm.drafts import Drafting, drafting_of
from sizing.engines.tensorrt_llm.layers import LayerRules
from sizing.engines.tensorrt_llm.refusals import check, formats_of
from sizing.engines.tensorrt_llm.rules import FRACTION, MAX_BATCH_SIZE, MAX_NUM_TOKENS, NEWEST, OLDEST, Rules, rules_of
from sizing.engines.tensorrt_llm.stages import Stage, stages_of
from sizing.placement import check_placement
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario
from sizing.versions import release_of

COMPRESSED_BLOCK = 128  # DeepSeek-V4's manager
SECOND_MANAGER = ("gemma4",)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scenario with defaults, and what follows from it. `second`: the model runs with the second cache manager."""

    scenario: Scenario
    rules: Rules
    stages: tuple[Stage, ...]
    drafting: Drafting
    second: bool
    exact: bool
    notes: tuple[str, ...]

    @property
    def rounds_up(self) -> bool:
        """Pools by window are rounded up where C++ counts them."""
        pools = self.stages[0].pools
        equal = self.rules.equal_shares and all(pool.lane.kind != "cross" for pool in pools)
        return self.rules.rounds_up or (len(pools) > 1 and not equal)


def resolved_of(scenario: Scenario, spec: ModelSpec) -> Resolved:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    release, version, release_notes = release_of(scenario.engine_version, "TensorRT-LLM", oldest=OLDEST, newest=NEWEST)
    rules = rules_of(version)
    check(scenario, spec, rules)
    formats = formats_of(scenario, spec, rules)
    check_placement(spec, scenario.placement)
    settled = _settle(scenario, spec, rules, formats, release)
    compressed = spec.has(CompressedAttention)
    second = spec.model_type.startswith(SECOND_MANAGER)
    by = _layer_rules(settled, spec, formats, compressed, equal=rules.equal_shares and not (compressed or second))
    drafting = drafting_of(settled, spec)
    stages = stages_of(spec, settled.pipeline_parallel, by, drafting)
    return Resolved(
        scenario=settled.model_copy(update={"block_size": by.block}),
        rules=rules,
        stages=stages,
        drafting=drafting,
        second=second,
        exact=not (compressed or second or spec.has(CrossAttention)),
        notes=(
            *notes_on(settled, spec, release),
            *release_notes,
            *drafting.notes,
            *_notes(settled, spec, compressed=compressed, second=second),
        ),
    )


def _settle(scenario: Scenario, spec: ModelSpec, rules: Rules, formats: CacheFormats, release: str) -> Scenario:
    common = resolve(scenario, spec, formats, version=release, fraction=FRACTION)
    windows = scenario.hybrid_kv_cache_manager
    pools = rules.window_pools and spec.model_type.startswith(SECOND_MANAGER)
    reuse = scenario.prefix_caching
    return common.model_copy(
        update={
            "max_num_seqs": scenario.max_num_seqs or MAX_BATCH_SIZE,
            "max_num_batched_tokens": scenario.max_num_batched_tokens or MAX_NUM_TOKENS,
            "block_size": scenario.block_size or rules.block,
            "prefix_caching": rules.reuse if reuse is None else reuse,
            "hybrid_kv_cache_manager": pools if windows is None else windows,
            "enforce_eager": bool(scenario.enforce_eager),
        }
    )


def _layer_rules(
    scenario: Scenario, spec: ModelSpec, formats: CacheFormats, compressed: bool, *, equal: bool
) -> LayerRules:
    longest = scenario.max_model_len or 1
    return LayerRules(
        formats=formats,
        model_dtype="fp16" if spec.dtype == "fp16" else "bf16",
        ranks=scenario.placement.ranks_per_replica,
        block=COMPRESSED_BLOCK if compressed else scenario.block_size or 1,
        longest=longest,
        windows=bool(scenario.hybrid_kv_cache_manager) and _mixes_windows(spec, longest),
        equal=equal,
    )


def _mixes_windows(spec: ModelSpec, longest: int) -> bool:
    """Models with one window for all layers keep the default, one pool of full length."""
    layers = [mixer for mixer in spec.mixers() if isinstance(mixer, Attention)]
    return len({min(mixer.window or longest, longest) for mixer in layers}) > 1


def _notes(scenario: Scenario, spec: ModelSpec, *, compressed: bool, second: bool) -> list[str]:
    notes = [
        "Activations of the profiling pass are estimated from the model's shapes; what the runtime and CUDA graphs "
        "take is known of one public log only."
    ]
    if spec.has(Recurrent):
        notes.append(
            f"Recurrent states are set aside for all of max_batch_size = {scenario.max_num_seqs:,} sequences; those "
            "for CUDA graphs and snapshots come on top."
        )
    if spec.has(CrossAttention):
        notes.append("cross_kv_cache_fraction is taken to be 0.5: half of the cache is for cross-attention.")
    if scenario.hybrid_kv_cache_manager is False and _mixes_windows(spec, scenario.max_model_len or 1):
        notes.append("Layers with a window keep all tokens, as max_attention_window is not given.")
    if compressed:
        notes.append("TensorRT-LLM has a cache manager of its own for this model; its pools are assumed.")
    if second:
        notes.append("This model runs with the second cache manager, of which sequences can use 95 %.")
    return notes
