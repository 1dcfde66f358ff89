"""The solved questions: how many sequences of a length fit a pool, and how long a batch of sequences may be."""

from collections.abc import Callable

from sizing.scenario import LONGEST_CONTEXT


def most_sequences(bytes_of_one: int, pool: int) -> int | None:
    """Sequences that fit `pool` bytes. None where a sequence keeps nothing, so that memory sets no limit."""
    if pool < 0:
        return 0
    return pool // bytes_of_one if bytes_of_one else None


def longest_context(bytes_at: Callable[[int], int], pool: int) -> int:
    """The greatest length up to LONGEST_CONTEXT whose `bytes_at` fits `pool`; 0 where not even one token does.

    `bytes_at` never falls as the length grows, so bisection on the real curve is exact.
    """
    if bytes_at(1) > pool:
        return 0
    fits, fails = 1, LONGEST_CONTEXT + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if bytes_at(middle) <= pool:
            fits = middle
        else:
            fails = middle
    return fits
