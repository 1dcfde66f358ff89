"""The solved questions: how many sequences of a length fit, and how long a batch of sequences may be.

The need never falls as the length or the number grows, so bisection on the engine's real curve is exact.
"""

from collections.abc import Callable

from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT


def longest_context(fits: Callable[[int], bool]) -> int:
    """The greatest length up to LONGEST_CONTEXT that `fits`; 0 where not even one token does."""
    return greatest(fits, LONGEST_CONTEXT)


def most_sequences(fits: Callable[[int], bool], replicas: int = 1) -> int | None:
    """The greatest number of sequences on `replicas` replicas, each of which `fits` its share.

    None where even LARGEST_BATCH of them do, the most that a Scenario may ask for.
    """
    bound = LARGEST_BATCH // replicas
    most = greatest(fits, bound)
    return None if most == bound else most * replicas


def greatest(fits: Callable[[int], bool], most: int) -> int:
    """The greatest n of 0 … most that fits, where all below one that fits fit too. Doubling first keeps it short."""
    if not fits(1):
        return 0
    good = 1
    while good < most and fits(min(2 * good, most)):
        good = min(2 * good, most)
    bad = min(2 * good, most + 1) if good < most else most + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
