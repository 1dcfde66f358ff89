"""The GPU that decides: the rank with the least room, and what a request keeps on the rank that holds most."""

from math import lcm

from components.choices import cache_rules
from sizing.cache import CacheCost
from sizing.costs import stage_costs
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.size import replica_batches


def fullest_load(planned: EnginePlan) -> tuple[int, int]:
    """Tokens of a request and requests of the fullest replica."""
    return planned.scenario.context_length or 1, replica_batches(planned.scenario)[0]


def tightest_rank(planned: EnginePlan) -> RankPlan:
    """The rank with the least room; where no memory is known, the one that holds most."""
    tokens, batch = fullest_load(planned)
    return min(planned.ranks, key=lambda rank: (rank.usable or 0) - int(rank.cache.need(tokens, batch)))


def room(planned: EnginePlan) -> int | None:
    """Bytes of the pool that are left on the tightest rank, negative where they are short."""
    tokens, batch = fullest_load(planned)
    rank = tightest_rank(planned)
    return None if rank.usable is None else rank.usable - int(rank.cache.need(tokens, batch))


def request_cost(planned: EnginePlan) -> CacheCost:
    """What one request keeps on the rank that holds most of it, before any rounding by the engine."""
    rules = cache_rules(planned.scenario.engine)
    formats = rules.formats(planned.scenario, planned.spec)
    costs = stage_costs(planned.spec, rules.mixer_cost_of(planned.spec), formats, planned.scenario.placement)
    tokens = planned.scenario.context_length or 1
    return max(costs, key=lambda cost: int(cost.bytes(tokens)))


def growth_after(cost: CacheCost, tokens: int) -> tuple[int, int]:
    """Tokens of one step of growth, and the bytes that a step beyond `tokens` adds. The step is 1 but where several
    tokens share an entry."""
    step = lcm(*(growth.every for growth in cost.growths)) if cost.growths else 1
    return step, int(cost.kv(tokens + step)) - int(cost.kv(tokens))
