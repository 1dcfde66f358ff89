"""What a request keeps on the GPU that holds most of it."""

from math import lcm

from components.choices import cache_rules
from sizing.cache import CacheCost
from sizing.costs import stage_costs
from sizing.engines.plan import EnginePlan


def request_cost(planned: EnginePlan) -> CacheCost:
    """What one request keeps on the rank that holds most of it, before any rounding by the engine."""
    tokens = planned.scenario.context_length or 1
    return max(_costs(planned), key=lambda cost: int(cost.bytes(tokens)))


def _costs(planned: EnginePlan) -> list[CacheCost]:
    """Rank by rank. llama.cpp has a split of its own, and may keep the cache in host memory."""
    if planned.scenario.engine == "llama.cpp":
        return [rank.cache.contents(planned.scenario.context_length or 1, 1).cost for rank in planned.ranks]
    rules = cache_rules(planned.scenario.engine)
    formats = rules.formats(planned.scenario, planned.spec)
    return list(stage_costs(planned.spec, rules.mixer_cost_of(planned.spec), formats, planned.scenario.placement))


def ranks_differ(planned: EnginePlan) -> bool:
    """Whether a request keeps more on one GPU than on another."""
    tokens = planned.scenario.context_length or 1
    return len({int(rank.cache.live(tokens, 1)) for rank in planned.ranks}) > 1


def growth_after(cost: CacheCost, tokens: int) -> tuple[int, int]:
    """Tokens of one step of growth, and the bytes that a step beyond `tokens` adds. The step is 1 but where several
    tokens share an entry."""
    step = lcm(*(growth.every for growth in cost.growths)) if cost.growths else 1
    return step, int(cost.kv(tokens + step)) - int(cost.kv(tokens))
