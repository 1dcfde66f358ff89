"""A StaticCache by hand: transformers 5.24.0, cache_utils.py, StaticLayer and StaticSlidingWindowLayer."""

import pytest

from sizing.cache import CacheCost, Growth
from sizing.engines.transformers import static_cost
from sizing.scenario import ScenarioError


@pytest.mark.parametrize(("max_len", "window_tokens"), [(300, 300), (511, 511), (512, 512), (2048, 512)])
def test_full_layers_have_the_whole_length_and_windows_at_most_their_window(max_len: int, window_tokens: int) -> None:
    """A DynamicCache keeps window − 1 tokens, 511 of 512; StaticSlidingWindowLayer allocates min(window, length)."""
    cost = static_cost(CacheCost((Growth(1024), Growth(4096, 511)), fixed_kv=7, state=100), max_len)
    assert cost.bytes(1) == cost.bytes(max_len) == 1024 * max_len + 4096 * window_tokens + 7 + 100
    assert cost.state == 100


def test_an_entry_for_several_tokens_has_no_static_cache() -> None:
    with pytest.raises(ScenarioError, match="no static cache"):
        static_cost(CacheCost((Growth(512, every=4),)), 100)
