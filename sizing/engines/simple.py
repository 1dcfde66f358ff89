"""Engines without a scheduler: every sequence keeps exactly what a rule for one mixer says, and nothing is rounded."""

from collections.abc import Callable
from dataclasses import dataclass

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.arrays import Tokens
from sizing.cache import CacheCost
from sizing.cache_formats import CacheFormats
from sizing.costs import MixerCost, stage_costs
from sizing.engines.foreign import unused_notes
from sizing.engines.plan import Contents, EnginePlan, Printed, RankPlan
from sizing.grading import grades_of
from sizing.memory import Memory, memory_of
from sizing.placement import check_placement
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario, ScenarioError
from sizing.weights.ranks import EVERYTHING, WITHOUT_PREDICTION, rank_bytes


@dataclass(frozen=True, slots=True)
class SimpleCache:
    """A rank's cache by CacheCost, the first `prefix` tokens of all sequences stored once."""

    cost: CacheCost
    prefix: int = 0

    def kv(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.cost.batch_kv(tokens, batch, self.prefix)

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.cost.state * batch

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.cost.bytes(tokens, batch, self.prefix)

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.cost.peak(tokens, batch, self.prefix)

    def contents(self, tokens: int, batch: int) -> Contents:
        return Contents(self.cost, self.prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleRules:
    """What tells one such engine from another.

    `fraction` is the share of a GPU's memory that it may use; `holds_prediction` whether weights for
    multi-token prediction are loaded.
    """

    name: str
    version: str
    fraction: float
    holds_prediction: bool
    formats: Callable[[Scenario, ModelSpec], CacheFormats]
    mixer_cost_of: Callable[[ModelSpec], MixerCost]
    notes: tuple[str, ...]


def plan_simple(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, rules: SimpleRules) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    if scenario.speculative:
        raise ScenarioError("speculative", f"Drafts are not counted for {rules.name}; choose an engine that serves.")
    check_placement(spec, scenario.placement)
    formats = rules.formats(scenario, spec)
    resolved = resolve(scenario, spec, formats, version=rules.version, fraction=rules.fraction)
    memory = memory_of(resolved, accelerator.memory_driver_bytes if accelerator else None)
    include = EVERYTHING if rules.holds_prediction else WITHOUT_PREDICTION
    held = rank_bytes(spec, scenario.weights, scenario.placement, include=include)
    costs = stage_costs(spec, rules.mixer_cost_of(spec), formats, scenario.placement)
    ranks = tuple(
        _rank(sum(weights.values()), cost, resolved, memory) for weights, cost in zip(held, costs, strict=True)
    )
    longest = resolved.max_model_len or 1
    return EnginePlan(
        scenario=resolved,
        spec=spec,
        ranks=ranks,
        needed_kv_bytes=max(int(cost.bytes(longest)) for cost in costs),
        total_memory=memory.total,
        budget=memory.budget,
        printed=_printed(ranks, longest),
        grades=grades_of(spec),
        notes=(
            *notes_on(resolved, spec, rules.version),
            *rules.notes,
            *unused_notes(scenario, rules.name),
            *memory.notes,
        ),
    )


def _rank(weights: int, cost: CacheCost, scenario: Scenario, memory: Memory) -> RankPlan:
    left = None if memory.budget is None else memory.budget - weights
    pool = left if scenario.available_kv_bytes is None else scenario.available_kv_bytes
    cache = SimpleCache(cost, scenario.shared_prefix_tokens)
    return RankPlan(weights=weights, cache=cache, available=pool, usable=pool)


def _printed(ranks: tuple[RankPlan, ...], longest: int) -> Printed:
    """How many sequences of the longest length the pool would hold, and that many times the length."""
    held = [(rank.available, int(rank.cache.live(longest, 1))) for rank in ranks]
    known = [max(0, pool) / one for pool, one in held if pool is not None and one]
    if len(known) < len(held):
        return Printed()
    concurrency = min(known)
    return Printed(kv_tokens=int(concurrency * longest), max_concurrency=concurrency)
