"""The solved questions: how many sequences of a length fit, and how long a batch of sequences may be.

The room that is left never grows with the length or the number, so a search on the engine's real curve is exact. The
curve is close to a line over most of its course, so that the search begins where a line through it crosses zero.
"""

from collections.abc import Callable

from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT

Room = Callable[[int], int]  # bytes that are left, negative where they are short
WIDENING = 8


def longest_context(room: Room) -> int:
    """The greatest length up to LONGEST_CONTEXT with room for it; 0 where there is none for one token."""
    return greatest_with_room(room, LONGEST_CONTEXT)


def most_sequences(room: Room, replicas: int = 1) -> int | None:
    """The greatest number of sequences on `replicas` replicas, each of which has room for its share.

    None where there is even room for LARGEST_BATCH of them, the most that a Scenario may ask for.
    """
    bound = LARGEST_BATCH // replicas
    most = greatest_with_room(room, bound)
    return None if most == bound else most * replicas


def greatest_with_room(room: Room, most: int) -> int:
    """The greatest n of 0 … most with `room(n)` not negative, where room never grows with n."""
    first = room(1)
    if first < 0:
        return 0
    last = room(most)
    if last >= 0:
        return most
    near = _crossing((1, first), (most, last))
    left = room(near)
    nearer = _crossing((near, left), (most, last)) if left != last else near
    good, bad = _around(lambda n: room(n) >= 0, min(max(nearer, 1), most), most)
    return _bisected(lambda n: room(n) >= 0, good, bad)


def _crossing(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Where the line through two points (n, room) crosses zero, rounded down."""
    return one[0] + one[1] * (other[0] - one[0]) // (one[1] - other[1])


def _around(fits: Callable[[int], bool], start: int, most: int) -> tuple[int, int]:
    """Two numbers about `start`, the first of which fits and the other does not; 1 fits and `most` does not."""
    step = 1
    if fits(start):
        good, bad = start, min(start + step, most)
        while bad < most and fits(bad):
            step *= WIDENING
            good, bad = bad, min(bad + step, most)
        return good, bad
    good, bad = max(start - step, 1), start
    while good > 1 and not fits(good):
        step *= WIDENING
        good, bad = max(good - step, 1), good
    return good, bad


def greatest(fits: Callable[[int], bool], most: int) -> int:
    """The greatest n of 0 … most that fits, where all below one that fits fit too. Doubling first keeps it short."""
    if not fits(1):
        return 0
    good = 1
    while good < most and fits(min(2 * good, most)):
        good = min(2 * good, most)
    return _bisected(fits, good, min(2 * good, most + 1) if good < most else most + 1)


def _bisected(fits: Callable[[int], bool], good: int, bad: int) -> int:
    """The greatest n that fits, of those from `good`, which does, to `bad`, which does not."""
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
