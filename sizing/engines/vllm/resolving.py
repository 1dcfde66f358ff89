"""A scenario as vLLM takes it: defaults by release and accelerator, formats, and the layout of the cache."""

from dataclasses import dataclass, replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import CompressedAttention, CrossAttention, ModelSpec, Recurrent
from sizing.cache_formats import DS_MLA
from sizing.engines.vllm.cache.block_sizes import kernel_blocks
from sizing.engines.vllm.cache.groups import Grouping
from sizing.engines.vllm.cache.layout import Layout, layout_of
from sizing.engines.vllm.cache.model_layers import LayerRules
from sizing.engines.vllm.cache.pool import Blocks, Load, blocks_of
from sizing.engines.vllm.cache.states import StateMode, state_mode
from sizing.engines.vllm.defaults import capability_of, max_num_batched_tokens, max_num_seqs, prefix_caching
from sizing.engines.vllm.drafts import Drafting, check_release, drafting_of
from sizing.engines.vllm.formats import Formats, formats_of
from sizing.engines.vllm.refusals import check
from sizing.engines.vllm.rules import Rules, release_of, rules_of
from sizing.engines.vllm.weights.loaded import loading_notes
from sizing.formats import TURBOQUANT
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario, ScenarioError


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scenario with vLLM's defaults put in, and what follows from them. `exact`: all of the cache is counted."""

    scenario: Scenario
    rules: Rules
    layout: Layout
    blocks: Blocks
    exact: bool
    notes: tuple[str, ...]


def resolved_of(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> Resolved:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    release, version, release_notes = release_of(scenario.engine_version)
    rules, capability = rules_of(version), capability_of(accelerator)
    check(scenario, spec, rules, version)
    check_release(scenario, version)
    formats = formats_of(scenario, spec, rules, capability)
    settled = _settle(scenario, spec, accelerator, rules, formats, release)
    drafting = drafting_of(settled, spec, rules)
    mode = _state_mode(settled, spec, rules, capability)
    by = _layer_rules(settled, spec, rules, formats, mode, capability, drafting)
    grouping = Grouping(_hybrid(settled, rules), rules.hybrid_groups, rules.near_equal, spec.has(CompressedAttention))
    layout = _layout(spec, by, grouping, settled.pipeline_parallel)
    _check_sharing(settled, layout)
    return Resolved(
        scenario=settled.model_copy(update={"block_size": _block_size(layout, spec, by)}),
        rules=rules,
        layout=layout,
        blocks=blocks_of(layout.groups, _load(settled, spec, rules, mode, drafting)),
        exact=drafting.exact and not (_state_notes(spec, rules) or formats.cache.key in TURBOQUANT),
        notes=(
            *notes_on(settled, spec, release),
            *release_notes,
            *drafting.notes,
            *_state_notes(spec, rules),
            *loading_notes(settled, spec, rules),
        ),
    )


def _settle(
    scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, rules: Rules, formats: Formats, release: str
) -> Scenario:
    """The scenario with vLLM's defaults."""
    common = resolve(scenario, spec, formats.cache, version=release, fraction=rules.fraction)
    longest = common.max_model_len or 1
    sequences = scenario.max_num_seqs or max_num_seqs(accelerator, rules)
    tokens = max_num_batched_tokens(scenario, spec, accelerator, rules, longest, sequences)
    name = formats.cache.key
    return common.model_copy(
        update={
            "kv_dtype": DS_MLA if formats.packed and name != "nvfp4_ds_mla" else "fp8_e4m3" if name == "fp8" else name,
            "max_num_seqs": scenario.max_num_seqs or min(sequences, tokens),
            "max_num_batched_tokens": tokens,
            "prefix_caching": prefix_caching(scenario, spec, rules),
            "hybrid_kv_cache_manager": _hybrid(scenario, rules),
            "enforce_eager": bool(scenario.enforce_eager),
            "pooling": spec.pools if scenario.pooling is None else scenario.pooling,
        }
    )


def _hybrid(scenario: Scenario, rules: Rules) -> bool:
    """On unless turned off, but for the old releases."""
    return rules.hybrid_groups and scenario.hybrid_kv_cache_manager is not False


def _state_mode(scenario: Scenario, spec: ModelSpec, rules: Rules, capability: tuple[int, int]) -> StateMode:
    kinds = frozenset(mixer.kind for mixer in spec.mixers() if isinstance(mixer, Recurrent))
    tokens = scenario.speculative.tokens if scenario.speculative else 0
    return state_mode(kinds, spec.model_type, rules, capability, bool(scenario.prefix_caching), tokens)


def _layer_rules(
    scenario: Scenario,
    spec: ModelSpec,
    rules: Rules,
    formats: Formats,
    mode: StateMode,
    capability: tuple[int, int],
    drafting: Drafting,
) -> LayerRules:
    kernel = kernel_blocks(scenario, spec, formats, capability, rules)
    crosses = spec.has(CrossAttention)
    return LayerRules(
        formats=formats,
        block=kernel.size,
        smallest=kernel.smallest,
        ranks=scenario.tensor_parallel,
        mode=mode,
        max_model_len=0 if mode.aligned else scenario.max_model_len or 1,
        encoder_tokens=(scenario.max_num_batched_tokens or 0) if crosses else 0,
        draft_layers=drafting.own_layers,
        draft=drafting.draft,
        bounded_chunks=rules.chunks_bounded and not drafting.reads_cache,
        pooled_states=rules.pools_states,
    )


def _layout(spec: ModelSpec, by: LayerRules, grouping: Grouping, stages: int) -> Layout:
    """Where vLLM can lay out the model but not the model with its draft, the draft is at fault."""
    try:
        return layout_of(spec, by, grouping, stages)
    except ScenarioError as error:
        if by.draft is None:
            raise
        layout_of(spec, replace(by, draft=None), grouping, stages)
        raise ScenarioError("speculative", f"The draft's cache does not suit the model's. {error.message}") from None


def _block_size(layout: Layout, spec: ModelSpec, by: LayerRules) -> int:
    """What vLLM calls its block size: that of the layers with the largest page."""
    sizes = [group.first.block_size for group in layout.groups if group.first.kind != "state"]
    return by.block if spec.has(CompressedAttention) else min(sizes, default=by.block)


def _check_sharing(scenario: Scenario, layout: Layout) -> None:
    if scenario.decode_context_parallel > 1 and any(
        layer.kind in ("sliding", "chunked") for group in layout.groups for _, layer in group.members
    ):
        raise ScenarioError(
            "decode_context_parallel", "vLLM does not share out the tokens of sliding or chunked layers."
        )


def _state_notes(spec: ModelSpec, rules: Rules) -> tuple[str, ...]:
    recurrent = spec.has(Recurrent)
    if rules.pools_states or not recurrent:
        return ()
    return ("This vLLM release keeps recurrent states outside of its pool of blocks; they are not counted.",)


def _load(scenario: Scenario, spec: ModelSpec, rules: Rules, mode: StateMode, drafting: Drafting) -> Load:
    batches = scenario.pipeline_parallel + 1 if rules.runs_ahead else 1
    sources = [mixer.source_tokens for mixer in spec.mixers() if isinstance(mixer, CrossAttention)]
    return Load(
        in_flight=(scenario.max_num_batched_tokens or 1) * batches,
        dcp=scenario.decode_context_parallel,
        source_tokens=max(sources, default=0),
        settled_states=mode.settled,
        prefix=scenario.shared_prefix_tokens if scenario.prefix_caching else 0,
        ahead=drafting.ahead,
        longest=scenario.max_model_len or 1,
    )
