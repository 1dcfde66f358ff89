"""Why an engine sets aside more, or less, than the model needs: the difference, item by item."""

from collections import Counter

from sizing.cache import CacheCost, Growth, times, total
from sizing.costs import stage_costs
from sizing.engines import minimum
from sizing.engines.plan import Contents, EnginePlan, RankCache
from sizing.logical import logical_cost, logical_cost_as_kept
from sizing.report import Difference

ORDER = (
    "cache format",
    "replication",
    "windows kept at full length",
    "window slack",
    "page rounding",
    "page padding",
    "padding layers",
    "state format",
    "state padding",
    "state copies",
    "state slots",
    "unused slots",
    "encoder slack",
    "encoder rows",
    "prefix stored again",
    "other",
)


def differences(planned: EnginePlan, batches: list[int]) -> tuple[Difference, ...]:
    """Items that add up to reserved − logical of context_length × batch_size over all GPUs; none that are zero.

    `batches`: sequences of each data-parallel replica. `cache format` is what an engine adds or saves that keeps
    another format than was asked for, `replication` what ranks hold in copies by the model's own
    rule, `other` what draft layers and layers that are stored in another way add or save.
    """
    scenario = planned.scenario
    load = scenario.context_length or 1, scenario.batch_size, scenario.shared_prefix_tokens
    kept, asked = (int(cost.bytes(*load)) for cost in (logical_cost_as_kept(planned), logical_cost(planned)))
    named = Counter({"replication": -kept, "cache format": kept - asked})
    for batch, replicas in Counter(batches).items():
        for name, size in _of_replica(planned, batch).items():
            named[name] += replicas * size
    return tuple(Difference(name=name, bytes=named[name]) for name in ORDER if named[name])


def _of_replica(planned: EnginePlan, batch: int) -> Counter[str]:
    """What a replica sets aside for `batch` sequences by item, what they need among `replication`."""
    scenario, ranks = planned.scenario, planned.scenario.placement.ranks_per_replica
    tokens, prefix = scenario.context_length or 1, scenario.shared_prefix_tokens
    needed = _needed(planned)
    held = [(rank.cache, rank.cache.contents(tokens, batch)) for rank in planned.ranks]
    stored = times(total(contents.cost for _, contents in held), ranks)
    named = Counter({"replication": int(needed.bytes(tokens, batch, prefix))})
    named.update(_stored_otherwise(needed, stored, tokens, batch, prefix))
    for cache, contents in held:
        for name, size in _set_aside(cache, contents, tokens, batch, prefix).items():
            named[name] += ranks * size
    return named


def _needed(planned: EnginePlan) -> CacheCost:
    """What a sequence needs, summed over the ranks of a replica."""
    placement = planned.scenario.placement
    if placement.ranks_per_replica == 1:
        return logical_cost_as_kept(planned)
    formats = minimum.RULES.formats(planned.scenario, planned.spec)
    stages = stage_costs(planned.spec, minimum.mixer_cost, formats, placement)
    return times(total(stages), placement.ranks_per_replica)


def _stored_otherwise(needed: CacheCost, stored: CacheCost, tokens: int, batch: int, prefix: int) -> dict[str, int]:
    """From what the model needs to what the engine stores, both with the shared prefix once."""
    windows = _unwindowed(needed, stored, tokens, batch, prefix)
    states = (stored.state - needed.state) * batch
    more = int(stored.bytes(tokens, batch, prefix)) - int(needed.bytes(tokens, batch, prefix))
    return {"windows kept at full length": windows, "state format": states, "other": more - windows - states}


def _unwindowed(needed: CacheCost, stored: CacheCost, tokens: int, batch: int, prefix: int) -> int:
    """Bytes behind the windows of layers that `needed` bounds and `stored` does not."""
    freed = max(0, min(_rate(needed, True) - _rate(stored, True), _rate(stored, False) - _rate(needed, False)))
    behind = 0
    for growth in needed.growths:
        if growth.limit is not None:
            rate = min(freed, growth.bytes)
            freed -= rate
            whole, kept = CacheCost((Growth(rate),)), CacheCost((Growth(rate, growth.limit),))
            behind += int(whole.batch_kv(tokens, batch, prefix)) - int(kept.batch_kv(tokens, batch, prefix))
    return behind


def _rate(cost: CacheCost, bounded: bool) -> int:
    """Bytes of a token in layers that keep a window, or in those that keep every token."""
    return sum(each.bytes for each in cost.growths if each.every == 1 and (each.limit is not None) == bounded)


def _set_aside(cache: RankCache, contents: Contents, tokens: int, batch: int, prefix: int) -> dict[str, int]:
    """From what the engine stores on a rank to what it sets aside."""
    own = int(contents.cost.bytes(tokens, batch, contents.prefix))
    reserved = int(cache.kv(tokens, batch)) + int(cache.state(tokens, batch))
    return {
        **contents.excess,
        "prefix stored again": own - int(contents.cost.bytes(tokens, batch, prefix)),
        "page rounding": reserved - own - sum(contents.excess.values()),
    }
