"""Engine `vllm`: resolve the scenario by release and accelerator, lay the cache out, budget each rank, and print."""

from dataclasses import dataclass

from hardware_catalog.schema import Accelerator
from model_catalog.spec import CompressedAttention, CrossAttention, ModelSpec, Recurrent
from sizing.cache_formats import DS_MLA
from sizing.engines.plan import EnginePlan, Printed, RankPlan
from sizing.engines.vllm import budget
from sizing.engines.vllm.block_sizes import kernel_blocks
from sizing.engines.vllm.defaults import capability_of, max_num_batched_tokens, max_num_seqs, prefix_caching
from sizing.engines.vllm.drafts import draft_of
from sizing.engines.vllm.formats import Formats, formats_of, mixers_of
from sizing.engines.vllm.groups import Grouping
from sizing.engines.vllm.layout import Layout, layout_of
from sizing.engines.vllm.model_layers import LayerRules
from sizing.engines.vllm.pool import Blocks, Load, PoolCache, blocks_of
from sizing.engines.vllm.printed import Pool, lines_of, printed_of
from sizing.engines.vllm.refusals import check
from sizing.engines.vllm.rules import Rules, release_of, rules_of
from sizing.engines.vllm.states import StateMode, state_mode
from sizing.grading import grades_of
from sizing.memory import Memory
from sizing.report import Log
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario, ScenarioError


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scenario with vLLM's defaults put in, and what follows from them."""

    scenario: Scenario
    rules: Rules
    formats: Formats
    mode: StateMode
    layout: Layout
    blocks: Blocks
    notes: tuple[str, ...]


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    resolved = _resolve(scenario, spec, accelerator)
    memory = budget.memory_of(resolved.scenario, accelerator)
    terms = budget.stage_terms(resolved.scenario, spec, resolved.rules, accelerator)
    ranks = _ranks(resolved, terms, memory)
    longest = resolved.scenario.max_model_len or 1
    printed, lines = _printed(resolved, ranks, longest)
    return EnginePlan(
        scenario=resolved.scenario,
        spec=spec,
        ranks=ranks,
        needed_kv_bytes=max(int(rank.cache.need(longest, 1)) for rank in ranks),
        total_memory=memory.total,
        budget=memory.budget,
        printed=printed,
        log=Log(model_loading_bytes=terms[0].weights + terms[0].draft, lines=lines),
        grades=grades_of(spec, activation=budget.GRADE, graphs=budget.GRADE),
        notes=(*resolved.notes, *memory.notes),
    )


def _resolve(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> Resolved:
    release, version, release_notes = release_of(scenario.engine_version)
    rules, capability = rules_of(version), capability_of(accelerator)
    check(scenario, spec, rules, version)
    formats = formats_of(scenario, spec, rules, capability)
    settled = _settle(scenario, spec, accelerator, rules, formats, release)
    draft_layers, draft_notes = draft_of(settled, spec)
    mode = _state_mode(settled, spec, rules, capability)
    by = _layer_rules(settled, spec, rules, formats, mode, capability, draft_layers)
    grouping = Grouping(_hybrid(settled, spec, rules), rules.near_equal, _is_compressed(spec))
    layout = layout_of(spec, by, grouping, settled.pipeline_parallel)
    _check_sharing(settled, layout)
    return Resolved(
        scenario=settled.model_copy(update={"block_size": _smallest_block(layout, by)}),
        rules=rules,
        formats=formats,
        mode=mode,
        layout=layout,
        blocks=blocks_of(layout.groups, _load(settled, spec, rules, mode)),
        notes=(*notes_on(settled, spec, release), *release_notes, *draft_notes),
    )


def _settle(
    scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, rules: Rules, formats: Formats, release: str
) -> Scenario:
    """The scenario with vLLM's defaults."""
    common = resolve(scenario, spec, formats.cache, version=release, fraction=rules.fraction)
    longest = common.max_model_len or 1
    name = formats.cache.key
    return common.model_copy(
        update={
            "kv_dtype": DS_MLA if formats.packed and name != "nvfp4_ds_mla" else "fp8_e4m3" if name == "fp8" else name,
            "max_num_seqs": scenario.max_num_seqs or max_num_seqs(accelerator, rules),
            "max_num_batched_tokens": max_num_batched_tokens(scenario, spec, accelerator, rules, longest),
            "prefix_caching": prefix_caching(scenario, spec, rules),
            "hybrid_kv_cache_manager": _hybrid(scenario, spec, rules),
            "enforce_eager": bool(scenario.enforce_eager),
        }
    )


def _hybrid(scenario: Scenario, spec: ModelSpec, rules: Rules) -> bool:
    """On unless turned off, but for the old releases."""
    return rules.hybrid_groups and scenario.hybrid_kv_cache_manager is not False


def _is_compressed(spec: ModelSpec) -> bool:
    return any(isinstance(mixer, CompressedAttention) for mixer in mixers_of(spec))


def _state_mode(scenario: Scenario, spec: ModelSpec, rules: Rules, capability: tuple[int, int]) -> StateMode:
    kinds = frozenset(mixer.kind for mixer in mixers_of(spec) if isinstance(mixer, Recurrent))
    tokens = scenario.speculative.tokens if scenario.speculative else 0
    return state_mode(kinds, spec.model_type, rules, capability, bool(scenario.prefix_caching), tokens)


def _layer_rules(
    scenario: Scenario,
    spec: ModelSpec,
    rules: Rules,
    formats: Formats,
    mode: StateMode,
    capability: tuple[int, int],
    draft_layers: int,
) -> LayerRules:
    kernel = kernel_blocks(scenario, spec, formats, capability)
    crosses = any(isinstance(mixer, CrossAttention) for mixer in mixers_of(spec))
    return LayerRules(
        formats=formats,
        block=kernel.size,
        smallest=kernel.smallest,
        ranks=scenario.tensor_parallel,
        mode=mode,
        max_model_len=0 if mode.aligned else scenario.max_model_len or 1,
        encoder_tokens=(scenario.max_num_batched_tokens or 0) if crosses else 0,
        draft_layers=draft_layers,
        bounded_chunks=rules.chunks_bounded and not (scenario.speculative and draft_layers),
    )


def _smallest_block(layout: Layout, by: LayerRules) -> int:
    return min((group.first.block_size for group in layout.groups if group.first.kind != "state"), default=by.block)


def _check_sharing(scenario: Scenario, layout: Layout) -> None:
    if scenario.decode_context_parallel > 1 and any(
        layer.kind in ("sliding", "chunked") for group in layout.groups for _, layer in group.members
    ):
        raise ScenarioError(
            "decode_context_parallel", "vLLM does not share out the tokens of sliding or chunked layers."
        )


def _load(scenario: Scenario, spec: ModelSpec, rules: Rules, mode: StateMode) -> Load:
    batches = scenario.pipeline_parallel + 1 if rules.runs_ahead else 1
    sources = [mixer.source_tokens for mixer in mixers_of(spec) if isinstance(mixer, CrossAttention)]
    return Load(
        in_flight=(scenario.max_num_batched_tokens or 1) * batches,
        dcp=scenario.decode_context_parallel,
        source_tokens=max(sources, default=0),
        settled_states=mode.settled,
        prefix=scenario.shared_prefix_tokens if scenario.prefix_caching else 0,
    )


def _ranks(resolved: Resolved, terms: list[budget.Terms], memory: Memory) -> tuple[RankPlan, ...]:
    """Every rank has as many blocks as the one with the fewest."""
    pools = [_available(resolved.scenario, each, memory) for each in terms]
    counts = [
        pool // size
        for pool, size in zip(pools, resolved.layout.stage_blocks, strict=True)
        if pool is not None and size
    ]
    fewest = min(counts) if counts else None
    return tuple(
        RankPlan(
            weights=each.weights,
            draft=each.draft,
            encoder=each.encoder,
            activation=each.activation,
            graphs=each.graphs,
            runtime=each.runtime,
            cache=PoolCache(resolved.blocks, size),
            available=pool,
            usable=pool if fewest is None else (fewest - 1) * size,
        )
        for each, pool, size in zip(terms, pools, resolved.layout.stage_blocks, strict=True)
    )


def _available(scenario: Scenario, terms: budget.Terms, memory: Memory) -> int | None:
    if scenario.available_kv_bytes is not None:
        return scenario.available_kv_bytes
    return None if memory.budget is None else memory.budget - terms.total


def _printed(resolved: Resolved, ranks: tuple[RankPlan, ...], longest: int) -> tuple[Printed, tuple[str, ...]]:
    groups, sizes = resolved.layout.groups, resolved.layout.stage_blocks
    pools = [rank.available for rank in ranks if rank.available is not None]
    if not groups or len(pools) < len(ranks):
        return Printed(), ()
    pool = Pool(
        available=min(pools),
        num_blocks=min(each // size for each, size in zip(pools, sizes, strict=True) if size),
        block_bytes=max(sizes),
        per_request=resolved.blocks.per_request(longest),
        max_model_len=longest,
        dcp=resolved.scenario.decode_context_parallel,
    )
    printed = printed_of(pool, groups, resolved.rules)
    return printed, lines_of(pool, printed, resolved.rules)
