"""Size one Scenario: weights and cache on each GPU, what fits, and the verdict."""

from dataclasses import dataclass, fields
from typing import Any

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.cache import CacheCost
from sizing.capacity import longest_context, most_sequences
from sizing.costs import model_cost, stage_costs
from sizing.engines import ENGINES, minimum
from sizing.placement import check_placement
from sizing.report import (
    CacheReport,
    Capacity,
    Footprint,
    Grade,
    Grades,
    Log,
    Report,
    Speed,
    State,
    Verdict,
)
from sizing.resolve import notes_on, resolve
from sizing.scenario import LONGEST_CONTEXT, Scenario
from sizing.weights.ranks import rank_bytes

TIGHT_SHARE = 20  # tight: less than one twentieth of the pool is left


@dataclass(frozen=True, slots=True)
class Rank:
    """One GPU of a pipeline stage: its weights and what a sequence costs on it."""

    weights: int
    cost: CacheCost


@dataclass(frozen=True, slots=True)
class Sized:
    """A resolved Scenario with all that its questions are answered from. Sequences are per data-parallel replica."""

    scenario: Scenario
    spec: ModelSpec
    ranks: tuple[Rank, ...]
    total_memory: int | None
    memory_is_exact: bool

    @property
    def replica_batch(self) -> int:
        """Sequences of the fullest replica."""
        return -(-self.scenario.batch_size // self.scenario.data_parallel)

    @property
    def budget(self) -> int | None:
        """Bytes of each GPU that the engine may use."""
        if self.total_memory is None:
            return None
        share = int(self.total_memory * (self.scenario.memory_fraction or 1))
        return min(share, max(0, self.total_memory - self.scenario.other_memory_bytes))

    def pool(self, rank: Rank) -> int | None:
        """Bytes left for the cache on a rank; negative where the weights alone exceed the budget."""
        if self.scenario.available_kv_bytes is not None:
            return self.scenario.available_kv_bytes
        return None if self.budget is None else self.budget - rank.weights

    def fits(self, tokens: int, replica_batch: int) -> bool:
        """Whether every rank holds `replica_batch` sequences of `tokens` tokens. Needs a known memory."""
        return all(self.need(rank, tokens, replica_batch) <= (self.pool(rank) or 0) for rank in self.ranks)

    def need(self, rank: Rank, tokens: int, replica_batch: int) -> int:
        return int(rank.cost.bytes(tokens, replica_batch, self.scenario.shared_prefix_tokens))


def prepare(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None = None) -> Sized:
    """Check and resolve a Scenario. Raises ScenarioError or PlacementError, each naming the field at fault."""
    check_placement(spec, scenario.placement)
    resolved = resolve(scenario, spec)
    rules = ENGINES[scenario.engine]
    formats = rules.formats(scenario, spec)
    costs = stage_costs(spec, rules, formats, scenario.placement)
    weights = rank_bytes(spec, scenario.weights, scenario.placement)
    total, exact = _memory(scenario, accelerator)
    left_out = () if rules.holds_prediction else (TensorClass.PREDICTION,)
    ranks = tuple(
        Rank(sum(size for kind, size in held.items() if kind not in left_out), cost)
        for held, cost in zip(weights, costs, strict=True)
    )
    return Sized(resolved, spec, ranks, total, exact)


def _memory(scenario: Scenario, accelerator: Accelerator | None) -> tuple[int | None, bool]:
    if scenario.total_memory_bytes is not None:
        return scenario.total_memory_bytes, True
    figure = accelerator.memory_driver_bytes if accelerator else None
    return (figure.bytes, figure.grade == "exact") if figure else (None, False)


def size(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None = None) -> Report:
    """The Report of one Scenario. Raises ScenarioError or PlacementError, each naming the field at fault."""
    return report_of(prepare(scenario, spec, accelerator))


def report_of(sized: Sized) -> Report:
    scenario, spec = sized.scenario, sized.spec
    tokens = scenario.context_length or 1
    logical = model_cost(spec, ENGINES["minimum"], minimum.RULES.formats(scenario, spec))
    prefix = scenario.shared_prefix_tokens
    footprints = [_footprint(sized, rank, sized.replica_batch) for rank in sized.ranks]
    fullest = _largest(footprints, sized)
    return Report(
        scenario=scenario,
        per_gpu=fullest,
        cluster=_cluster(sized),
        cache=CacheReport(
            logical_bytes=int(logical.bytes(tokens, scenario.batch_size, prefix)),
            reserved_bytes=_reserved(sized),
            fixed_bytes_per_sequence=logical.fixed,
            bytes_per_token=logical.rate(tokens),
            bytes_per_sequence=int(logical.bytes(tokens)),
        ),
        capacity=_capacity(sized),
        needed_kv_bytes_per_gpu=max(int(rank.cost.bytes(scenario.max_model_len or 1)) for rank in sized.ranks),
        log=Log(),
        verdict=_verdict(sized, fullest),
        speed=Speed(),
        grades=_grades(spec),
        notes=tuple(dict.fromkeys(notes_on(scenario, spec) + _memory_notes(sized))),
    )


def _footprint(sized: Sized, rank: Rank, replica_batch: int) -> Footprint:
    scenario = sized.scenario
    tokens, prefix = scenario.context_length or 1, scenario.shared_prefix_tokens
    kv = int(rank.cost.batch_kv(tokens, replica_batch, prefix))
    return _with_memory(sized, weights=rank.weights, kv=kv, state=rank.cost.state * replica_batch)


def _with_memory(sized: Sized, *, weights: int, kv: int, state: int) -> Footprint:
    total, budget = sized.total_memory, sized.budget
    if total is None or budget is None:
        available = sized.scenario.available_kv_bytes
        return Footprint(weights_bytes=weights, kv_bytes=kv, state_bytes=state, available_kv_bytes=available)
    available = sized.pool(Rank(weights, CacheCost()))
    return Footprint(
        weights_bytes=weights,
        kv_bytes=kv,
        state_bytes=state,
        free_bytes=budget - weights - kv - state,
        outside_budget_bytes=total - budget,
        total_bytes=total,
        available_kv_bytes=available,
    )


def _largest(footprints: list[Footprint], sized: Sized) -> Footprint:
    """Each term at its largest over the ranks, so that what fits here fits on every rank."""
    return _with_memory(
        sized,
        weights=max(each.weights_bytes for each in footprints),
        kv=max(each.kv_bytes for each in footprints),
        state=max(each.state_bytes for each in footprints),
    )


def _replica_batches(sized: Sized) -> list[int]:
    """Sequences of each data-parallel replica: as even as can be."""
    even, more = divmod(sized.scenario.batch_size, sized.scenario.data_parallel)
    return [even + (replica < more) for replica in range(sized.scenario.data_parallel)]


def _cluster(sized: Sized) -> Footprint:
    """The terms summed over all ranks."""
    each = [
        _footprint(sized, rank, batch)
        for batch in _replica_batches(sized)
        for rank in sized.ranks
        for _ in range(sized.scenario.tensor_parallel)
    ]
    columns = {field.name: [getattr(footprint, field.name) for footprint in each] for field in fields(Footprint)}
    sums: dict[str, Any] = {name: None if None in values else sum(values) for name, values in columns.items()}
    return Footprint(**sums)


def _reserved(sized: Sized) -> int:
    cluster = _cluster(sized)
    return cluster.kv_bytes + cluster.state_bytes


def _capacity(sized: Sized) -> Capacity:
    scenario = sized.scenario
    pools = [sized.pool(rank) for rank in sized.ranks]
    if any(pool is None for pool in pools):
        return Capacity()
    longest = scenario.max_model_len or 1
    concurrency = min(_concurrency(sized.pool(rank) or 0, int(rank.cost.bytes(longest))) for rank in sized.ranks)
    return Capacity(
        kv_tokens=None if concurrency == float("inf") else int(concurrency * longest),
        max_concurrency=None if concurrency == float("inf") else concurrency,
        max_context_at_batch=_max_context(sized),
        max_batch_at_context=_max_batch(sized),
    )


def _concurrency(pool: int, bytes_of_one: int) -> float:
    return max(0, pool) / bytes_of_one if bytes_of_one else float("inf")


def _max_context(sized: Sized) -> int:
    return longest_context(lambda tokens: sized.fits(tokens, sized.replica_batch))


def _max_batch(sized: Sized) -> int | None:
    """Sequences of context_length over all replicas; the shared prefix is paid once in each replica."""
    tokens, prefix = sized.scenario.context_length or 1, sized.scenario.shared_prefix_tokens
    counts = []
    for rank in sized.ranks:
        once = int(rank.cost.bytes(tokens, 0, prefix))
        each = int(rank.cost.bytes(tokens, 1, prefix)) - once
        counts.append(most_sequences(each, (sized.pool(rank) or 0) - once))
    known = [count for count in counts if count is not None]
    return min(known) * sized.scenario.data_parallel if known else None


def _verdict(sized: Sized, fullest: Footprint) -> Verdict:
    pool = fullest.available_kv_bytes
    if pool is None:
        return Verdict()
    left = pool - fullest.cache_bytes
    if left < 0:
        return Verdict(state="short", fits=False, short_by_bytes=-left)
    state: State = "tight" if left * TIGHT_SHARE < pool else "fits"
    return Verdict(state=state, fits=True, short_by_bytes=0)


def _grades(spec: ModelSpec) -> Grades:
    kv: Grade = "assumed" if any(doubt.touches_kv for doubt in spec.doubts) else "exact"
    weights: Grade = "assumed" if any(doubt.touches_weights for doubt in spec.doubts) else "exact"
    return Grades(weights=weights, kv=kv, state=kv)


def _memory_notes(sized: Sized) -> list[str]:
    if sized.total_memory is None:
        return ["No memory size is known, so nothing is said about what fits."]
    notes = []
    if not sized.memory_is_exact:
        notes.append("The accelerator's memory is not a reading; it follows from its marketed size.")
    if sized.scenario.engine == "minimum" and sized.scenario.available_kv_bytes is None:
        notes.append(f"The budget is {sized.scenario.memory_fraction:.0%} of the memory that the driver reports.")
    if _max_context(sized) >= LONGEST_CONTEXT:
        notes.append("At this number of sequences the context is not limited by memory.")
    return notes
