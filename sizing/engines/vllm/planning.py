"""Engine `vllm`: lay the cache out, budget each rank, and say what vLLM prints."""

from dataclasses import replace

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.calibration import VLLM
from sizing.engines.plan import EnginePlan, Printed, RankPlan
from sizing.engines.vllm import budget
from sizing.engines.vllm.cache.pool import PoolCache
from sizing.engines.vllm.platforms import platform_notes
from sizing.engines.vllm.printed import Pool, lines_of, printed_of
from sizing.engines.vllm.profiling.encoder import assumed, batch_of, is_run
from sizing.engines.vllm.resolving import Resolved, resolved_of
from sizing.engines.vllm.weights.loaded import loaded_spec
from sizing.grading import grades_of
from sizing.memory import Memory
from sizing.report import Grades, Log
from sizing.scenario import Scenario
from sizing.units import GIB

NULL_BLOCKS = 1
ALL_ASSUMED = Grades(
    weights="assumed", kv="assumed", state="assumed", activation="assumed", graphs="assumed", runtime="assumed"
)


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    resolved = resolved_of(scenario, spec, accelerator)
    memory = budget.memory_of(resolved.scenario, accelerator)
    terms = budget.stage_terms(resolved.scenario, spec, resolved.rules, accelerator)
    ranks = _ranks(resolved, terms, memory)
    foreign = platform_notes(accelerator)
    given = scenario.available_kv_bytes is not None
    longest = resolved.scenario.max_model_len or 1
    printed, lines = _printed(resolved, ranks, longest)
    held = loaded_spec(resolved.scenario, spec, resolved.rules)
    encoder_line = _encoder_line(resolved, held)
    memory_notes = () if given else (*memory.notes, *_encoder_notes(resolved, held))
    return EnginePlan(
        scenario=resolved.scenario,
        spec=spec,
        ranks=ranks,
        needed_kv_bytes=max(int(rank.cache.need(longest, 1)) for rank in ranks),
        total_memory=memory.total,
        budget=memory.budget,
        printed=printed,
        log=Log(model_loading_bytes=terms[0].loaded, lines=(*encoder_line, *lines) if lines else lines),
        grades=_grades(resolved, spec, foreign),
        notes=(*resolved.notes, *foreign, *memory_notes, *_start_notes(ranks, longest)),
        error_bytes=0 if given else budget.error_bytes(memory, accelerator),
    )


def _encoder_line(resolved: Resolved, held: ModelSpec) -> tuple[str, ...]:
    batch = batch_of(resolved.scenario, held, resolved.rules.encoder)
    return (batch.line,) if batch and is_run(resolved.scenario, held, resolved.rules) else ()


def _encoder_notes(resolved: Resolved, held: ModelSpec) -> tuple[str, ...]:
    if not assumed(resolved.scenario, held, resolved.rules):
        return ()
    size = f"{VLLM.encoder / GIB:.1f} GiB ({VLLM.encoder / 1e9:.1f} GB)"
    return (f"What vLLM's start-up run of this model's encoder takes is not known: {size} are assumed.",)


def _grades(resolved: Resolved, spec: ModelSpec, foreign: tuple[str, ...]) -> Grades:
    """Nothing is sure where the kernels are others than those that the rules are of."""
    grades = replace(grades_of(spec, activation=budget.GRADE, graphs=budget.GRADE), runtime=budget.GRADE)
    if foreign:
        return ALL_ASSUMED
    return grades if resolved.exact else replace(grades, kv="assumed", state="assumed")


def _start_notes(ranks: tuple[RankPlan, ...], longest: int) -> tuple[str, ...]:
    """vLLM checks at start-up that one sequence of max_model_len fits (kv_cache_planning.py)."""
    if all(rank.usable is None or rank.cache.need(longest, 1) <= rank.usable for rank in ranks):
        return ()
    return (f"vLLM does not start with max_model_len {longest:,}: one sequence of that length does not fit.",)


def _ranks(resolved: Resolved, terms: list[budget.Terms], memory: Memory) -> tuple[RankPlan, ...]:
    """Every rank has as many blocks as the one with the fewest; the first is never given to a sequence."""
    pools = [_available(resolved.scenario, each, memory) for each in terms]
    counts = [
        pool // size
        for pool, size in zip(pools, resolved.layout.stage_blocks, strict=True)
        if pool is not None and size
    ]
    usable = min(counts) - (0 if resolved.rules.v0 else NULL_BLOCKS) if counts else None
    return tuple(
        RankPlan(
            weights=each.weights,
            draft=each.draft,
            tower=each.tower,
            activation=each.activation,
            graphs=each.graphs,
            runtime=each.runtime + each.rounding,
            cache=PoolCache(resolved.blocks, size, pieces),
            available=pool,
            usable=pool if usable is None else usable * size,
        )
        for each, pool, size, pieces in zip(
            terms, pools, resolved.layout.stage_blocks, resolved.layout.stage_pieces, strict=True
        )
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
