"""A load of mixed lengths: what sequences of an average length use, and how many of them run at once.

One sequence is counted at its longest, since any may grow to it; the others at the average. Where a cache grows evenly
that is exact. Behind a window sequences cost less than in proportion, so an average length then errs on the safe side.
"""

from sizing.capacity import most_sequences
from sizing.engines.plan import EnginePlan, RankPlan
from sizing.report import MixedLoad
from sizing.room import replica_batches


def mixed_load(planned: EnginePlan) -> MixedLoad | None:
    """Of the scenario's average and longest lengths; None where no average is given or no memory is known."""
    scenario = planned.scenario
    if scenario.average_context_length is None or any(rank.usable is None for rank in planned.ranks):
        return None
    average = min(scenario.average_context_length, scenario.context_length or 1)
    batch = replica_batches(scenario)[0]
    return MixedLoad(
        live_bytes_per_gpu=max(int(rank.cache.live(average, batch)) for rank in planned.ranks),
        need_bytes_per_gpu=max(_need(planned, rank, batch) for rank in planned.ranks),
        max_batch=most_sequences(lambda share: _room(planned, share), scenario.data_parallel),
    )


def _need(planned: EnginePlan, rank: RankPlan, batch: int) -> int:
    longest = planned.scenario.context_length or 1
    average = min(planned.scenario.average_context_length or 1, longest)
    ask = rank.cache.need
    return int(ask(average, batch)) + int(ask(longest, 1)) - int(ask(average, 1))


def _room(planned: EnginePlan, batch: int) -> int:
    return min((rank.usable or 0) - _need(planned, rank, batch) for rank in planned.ranks)
