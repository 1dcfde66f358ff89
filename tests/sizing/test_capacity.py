"""The search from an estimate finds what counting finds, on curves like those of engines."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sizing.capacity import greatest, greatest_with_room, longest_context, most_sequences
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT


def curve(pool: int, page: int, each: int, window: int, fixed: int) -> Callable[[int], int]:
    """Room beside whole pages of full attention, a window and something fixed."""
    return lambda n: pool - fixed - each * -(-n // page) * page - 7 * min(n, window)


CURVES = st.builds(
    curve,
    pool=st.integers(-5, 10**6),
    page=st.sampled_from([1, 16, 256]),
    each=st.integers(0, 50),
    window=st.integers(0, 2000),
    fixed=st.integers(0, 10**4),
)


@given(CURVES, st.integers(1, 3000))
def test_it_is_what_counting_finds(room: Callable[[int], int], most: int) -> None:
    counted = max((n for n in range(1, most + 1) if room(n) >= 0), default=0)
    assert greatest_with_room(room, most) == counted == greatest(lambda n: room(n) >= 0, most)


@given(CURVES)
def test_far_bounds_change_nothing(room: Callable[[int], int]) -> None:
    assert longest_context(room) == greatest(lambda n: room(n) >= 0, LONGEST_CONTEXT)


def test_a_published_pool() -> None:
    """Llama-3.1-8B keeps 131,072 bytes a token (32 layers × 8 heads × 128 × 2 × 2), so 16 GiB hold 131,072 tokens."""
    asked: list[int] = []

    def room(tokens: int) -> int:
        asked.append(tokens)
        return 2**34 - 131_072 * tokens

    assert longest_context(room) == 131_072
    assert len(asked) < 10


def test_numbers_over_replicas_and_without_limit() -> None:
    assert most_sequences(lambda share: 10 - share, replicas=4) == 40
    assert most_sequences(lambda share: 10) is None
    assert most_sequences(lambda share: LARGEST_BATCH - 1 - share) == LARGEST_BATCH - 1
    assert most_sequences(lambda share: -1) == 0
