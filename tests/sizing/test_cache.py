"""Laws of CacheCost, and numbers from published models."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from model_catalog.lookup import find_entry
from model_catalog.spec import Attention, CompressedAttention, Indexer, LatentAttention
from sizing.cache import CacheCost, Growth, shared_out, times, total
from sizing.cache_formats import CacheFormats
from sizing.engines import minimum, transformers
from sizing.scenario import make_scenario

BF16 = CacheFormats("bf16", "bf16")

growths = st.builds(
    Growth,
    bytes=st.integers(1, 10_000),
    limit=st.none() | st.integers(1, 5_000),
    every=st.sampled_from([1, 4, 128]),
)
costs = st.builds(
    CacheCost,
    growths=st.lists(growths, max_size=4).map(tuple),
    fixed_kv=st.integers(0, 10**9),
    state=st.integers(0, 10**9),
)
lengths = st.integers(1, 10**6)
batches = st.integers(1, 1024)


@given(costs, lengths, lengths, batches)
def test_a_longer_sequence_never_keeps_less(cost: CacheCost, shorter: int, more: int, batch: int) -> None:
    assert cost.bytes(shorter, batch) <= cost.bytes(shorter + more, batch)


@given(costs, lengths, batches)
def test_linear_in_the_batch(cost: CacheCost, tokens: int, batch: int) -> None:
    assert cost.bytes(tokens, batch) == batch * cost.bytes(tokens)


@given(st.lists(costs, max_size=5), lengths)
def test_the_sum_of_parts_is_the_total(parts: list[CacheCost], tokens: int) -> None:
    assert total(parts).bytes(tokens) == sum(part.bytes(tokens) for part in parts)


@given(costs, st.integers(1, 100), lengths)
def test_equal_layers_multiply(cost: CacheCost, layers: int, tokens: int) -> None:
    assert times(cost, layers).bytes(tokens) == layers * cost.bytes(tokens)


@given(costs, st.lists(lengths, min_size=1, max_size=5), st.lists(batches, min_size=1, max_size=5))
def test_a_single_number_is_the_same_cell_of_the_array(cost: CacheCost, tokens: list[int], batch: list[int]) -> None:
    cells = cost.bytes(np.array(tokens)[:, None], np.array(batch)[None, :])
    assert isinstance(cells, np.ndarray)
    assert cells.tolist() == [[cost.bytes(n, b) for b in batch] for n in tokens]


@given(costs, lengths, batches, st.data())
def test_a_shared_prefix_saves_but_never_more_than_the_copies(
    cost: CacheCost, tokens: int, batch: int, data: st.DataObject
) -> None:
    prefix = data.draw(st.integers(0, tokens))
    shared = cost.bytes(tokens, batch, prefix)
    assert cost.bytes(tokens) <= shared <= cost.bytes(tokens, batch)


@given(st.builds(CacheCost, st.tuples(growths)), lengths, st.sampled_from([2, 4, 8]))
def test_ranks_that_share_tokens_hold_the_rounded_up_share(cost: CacheCost, tokens: int, ranks: int) -> None:
    (growth,) = cost.growths
    entries = tokens // growth.every
    expected = cost.bytes(tokens) if growth.limit is not None else growth.bytes * -(-entries // ranks)
    assert shared_out(cost, ranks).bytes(tokens) == expected


@given(st.integers(1, 4096), st.integers(1, 10_000))
def test_a_window_is_exact_below_at_and_above(window: int, tokens: int) -> None:
    cost = minimum.mixer_cost(Attention(heads=8, kv_heads=2, head_dim=64, value_dim=64, window=window), BF16)
    assert cost.bytes(tokens) == 2 * 2 * 64 * 2 * min(tokens, window)
    assert cost.rate(tokens) == (512 if tokens < window else 0)


def test_a_dynamic_sliding_layer_keeps_1023_of_5000_tokens() -> None:
    """transformers 5.24 DynamicSlidingWindowLayer with a window of 1,024."""
    cost = transformers.mixer_cost(Attention(heads=1, kv_heads=1, head_dim=1, value_dim=0, window=1024), BF16)
    assert cost.bytes(5000) == 1023 * 2


def test_deepseek_v3_keeps_70272_bytes_a_token() -> None:
    latent = LatentAttention(heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128)
    assert times(minimum.mixer_cost(latent, BF16), 61).rate(1) == 70_272


def test_deepseek_v32_with_fp8_ds_mla_keeps_48068_bytes_a_token() -> None:
    """61 × (656 + 132), as vLLM 0.33's planner has it."""
    indexer = Indexer(head_dim=128, heads=64, top_k=2048)
    latent = LatentAttention(heads=128, latent_dim=512, rope_dim=64, nope_dim=128, value_dim=128, indexer=indexer)
    cost = times(minimum.mixer_cost(latent, CacheFormats("fp8_ds_mla", "fp8_ds_mla")), 61)
    assert cost.rate(1) == 48_068


def test_deepseek_v4_flash_adds_3850_bytes_a_token_on_average() -> None:
    """21 layers of ratio 4 with an indexer, 20 of ratio 128, 2 of window only; counted over one cycle of 128 tokens."""

    def layer(ratio: int) -> CacheCost:
        indexer = Indexer(head_dim=128, heads=64, top_k=512) if ratio == 4 else None
        mixer = CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=ratio, indexer=indexer)
        return minimum.mixer_cost(mixer, CacheFormats("fp8_ds_mla", "fp8_ds_mla"))

    cost = total([times(layer(4), 21), times(layer(128), 20), times(layer(0), 2)])
    assert (cost.bytes(12_800 + 128) - cost.bytes(12_800)) / 128 == 3850.25


@given(st.integers(1, 3000), st.integers(1, 8), st.integers(0, 50))
def test_the_peak_on_the_way_is_the_largest_of_all_shorter_lengths(tokens: int, batch: int, prefix: int) -> None:
    """What waits for an entry of 4 or of 128 tokens is given back at once when it is made."""
    parts = [CacheCost((Growth(6), Growth(7 - 6 * 4, every=4))), CacheCost((Growth(5), Growth(9 - 5 * 128, every=128)))]
    cost = total([*parts, CacheCost((Growth(11, limit=100),), state=3)])
    every = cost.bytes(np.arange(tokens + 1), batch, prefix)
    assert cost.peak(tokens, batch, prefix) == np.max(every)


def test_deepseek_v4_in_transformers_needs_the_inputs_that_wait() -> None:
    """At 64 tokens 16 entries are complete, so that it keeps less than at 63, which it has to pass."""
    spec = find_entry("deepseek-ai/DeepSeek-V4-Flash").spec
    values = {"model": "deepseek-ai/DeepSeek-V4-Flash", "engine": "transformers"}
    cache = transformers.plan(make_scenario(values), spec, None).ranks[0].cache
    assert cache.kv(64, 1) < cache.kv(63, 1)
    assert cache.need(64, 1) == cache.need(63, 1) == cache.kv(63, 1)
