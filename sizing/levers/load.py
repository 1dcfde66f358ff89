"""Fewer requests, or shorter ones."""

from collections.abc import Iterator

from sizing.capacity import longest_context, most_sequences
from sizing.engines.plan import EnginePlan
from sizing.levers.step import Lever, Step
from sizing.room import replica_batches


def load_levers(planned: EnginePlan) -> Iterator[Lever]:
    """The most that fits of either, where it is at least one; for loads that do not fit."""
    scenario = planned.scenario
    tokens, batch = scenario.context_length or 1, scenario.batch_size
    most = most_sequences(lambda share: planned.room(tokens, share), scenario.data_parallel)
    if most and most < batch:
        step = Step(f"{most:,} request{'s' if most > 1 else ''}, not {batch:,}", {"batch_size": most})
        yield Lever("load", [step])
    longest = round_length(longest_context(lambda length: planned.room(length, replica_batches(scenario)[0])))
    if 0 < longest < tokens:
        yield Lever("load", [Step(f"{longest:,} tokens, not {tokens:,}", {"context_length": longest})])


def round_length(tokens: int) -> int:
    """Down to a multiple of the power of two that is a sixteenth of it or less: 9,760 to 9,728."""
    step = 1 << max(0, (tokens // 16).bit_length() - 1)
    return tokens // step * step
