"""The room that a load leaves: bytes of the pool on the GPU that decides."""

from typing import Any

from sizing.engines.plan import EnginePlan, RankPlan
from sizing.scenario import Scenario

TIGHT_SHARE = 20


def is_tight(left: Any, pool: Any, error: int) -> Any:
    """Whether less than a twentieth of the pool is left, or less than the estimates may be off by.

    Bytes of loads that fit; numbers or arrays.
    """
    return (left * TIGHT_SHARE < pool) | (left < error)


def replica_batches(scenario: Scenario) -> list[int]:
    """Sequences of each data-parallel replica, as even as can be, the fullest first."""
    even, more = divmod(scenario.batch_size, scenario.data_parallel)
    return [even + (replica < more) for replica in range(scenario.data_parallel)]


def fullest_load(planned: EnginePlan) -> tuple[int, int]:
    """Tokens of a request and requests of the fullest replica."""
    return planned.scenario.context_length or 1, replica_batches(planned.scenario)[0]


def tightest_rank(planned: EnginePlan) -> RankPlan:
    """The rank with the least room; where no memory is known, the one that holds most."""
    load = fullest_load(planned)
    return min(planned.ranks, key=lambda rank: (rank.usable or 0) - int(rank.cache.need(*load)))


def room(planned: EnginePlan) -> int | None:
    """Bytes of the pool that the load leaves on the tightest rank, negative where they are short.

    None where no memory is known.
    """
    return planned.room(*fullest_load(planned)) if planned.pools else None
