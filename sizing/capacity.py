"""The solved questions: how many sequences of a length fit a pool, and how long a batch of sequences may be."""

from collections.abc import Callable

from sizing.scenario import LONGEST_CONTEXT


def most_sequences(bytes_of_one: int, pool: int) -> int | None:
    """Sequences that fit `pool` bytes. None where a sequence keeps nothing, so that memory sets no limit."""
    if pool < 0:
        return 0
    return pool // bytes_of_one if bytes_of_one else None


def longest_context(fits: Callable[[int], bool]) -> int:
    """The greatest length up to LONGEST_CONTEXT that `fits`; 0 where not even one token does.

    The need never falls as the length grows, so bisection on the real curve is exact.
    """
    if not fits(1):
        return 0
    good, bad = 1, LONGEST_CONTEXT + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
