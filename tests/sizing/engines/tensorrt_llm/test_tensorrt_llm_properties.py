"""What must hold of every plan of engine tensorrt-llm, whatever the model and settings."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from model_catalog.spec import CompressedAttention
from sizing.engines.plan import EnginePlan
from sizing.engines.tensorrt_llm import ENGINE
from sizing.engines.tensorrt_llm.pools import StageCache
from sizing.engines.tensorrt_llm.rules import VERSIONS
from sizing.placement import PlacementError
from sizing.scenario import ScenarioError
from tests.sizing.engines.dimensions import INDEXER, attention, check_capacity, gated_delta, spec_of
from tests.sizing.engines.tensorrt_llm.models import GPT_OSS_20B, LLAMA_8B, plan_of

GIB = 2**30
DELTA = gated_delta(16, 32)
MODELS = {
    "dense": LLAMA_8B,
    "windows": GPT_OSS_20B,
    "hybrid": spec_of((36, DELTA), (12, attention(16, 2, 256))),
    "recurrent": spec_of((24, DELTA)),
    "compressed": spec_of(
        (2, CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=0)),
        (21, CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=4, indexer=INDEXER)),
    ),
}
names = st.sampled_from(sorted(MODELS))
pools = st.integers(GIB // 4, 300 * GIB)
options = st.fixed_dictionaries(
    {
        "engine_version": st.sampled_from(VERSIONS),
        "tensor_parallel": st.sampled_from([1, 2, 4]),
        "pipeline_parallel": st.sampled_from([1, 2]),
    },
    optional={
        "block_size": st.sampled_from([16, 64, 128]),
        "kv_dtype": st.sampled_from(["auto", "fp8"]),
        "max_num_seqs": st.integers(1, 500),
        "max_model_len": st.integers(4000, 100_000),
        "prefix_caching": st.booleans(),
        "shared_prefix_tokens": st.integers(0, 3000),
        "speculative": st.builds(lambda tokens: {"method": "ngram", "tokens": tokens}, st.integers(1, 6)),
    },
)


def planned(name: str, pool: int, chosen: dict[str, Any]) -> EnginePlan | None:
    """None where TensorRT-LLM refuses."""
    try:
        return plan_of(MODELS[name], available_kv_bytes=pool, context_length=4000, **chosen)
    except (ScenarioError, PlacementError):
        return None


@settings(max_examples=150, deadline=None)
@given(names, pools, options, st.integers(1, 200_000), st.integers(1, 600))
def test_reserved_covers_live(name: str, pool: int, chosen: dict[str, Any], tokens: int, batch: int) -> None:
    plan = planned(name, pool, chosen)
    for rank in plan.ranks if plan else ():
        reserved = rank.cache.kv(tokens, batch) + rank.cache.state(tokens, batch)
        assert reserved >= rank.cache.live(tokens, batch) > 0
        assert rank.cache.need(tokens, batch) > 0


@settings(max_examples=100, deadline=None)
@given(names, pools, options)
def test_arrays_equal_numbers(name: str, pool: int, chosen: dict[str, Any]) -> None:
    plan = planned(name, pool, chosen)
    tokens = np.array([1, 31, 32, 33, 8_000, 2**20, 2**31 - 1], dtype=np.int64)[None, :]
    batch = np.array([1, 2, 17, 2048], dtype=np.int64)[:, None]
    for rank in plan.ranks if plan else ():
        for ask in (rank.cache.kv, rank.cache.state, rank.cache.live, rank.cache.need):
            grid = np.broadcast_to(np.asarray(ask(tokens, batch)), (4, 7))
            assert [[int(ask(int(n), int(b))) for n in tokens[0]] for b in batch[:, 0]] == grid.tolist()


@settings(max_examples=150, deadline=None)
@given(names, pools, options, st.integers(1, 40_000), st.integers(1, 100))
def test_the_need_is_the_smallest_budget_that_holds_the_load(
    name: str, pool: int, chosen: dict[str, Any], tokens: int, batch: int
) -> None:
    plan = planned(name, pool, chosen)
    for rank in plan.ranks if plan else ():
        assert isinstance(rank.cache, StageCache)
        need = int(rank.cache.need(tokens, batch))
        assert holds(rank.cache, need, tokens, batch)
        assert not holds(rank.cache, need - 1, tokens, batch)


def holds(cache: StageCache, budget: int, tokens: int, batch: int) -> bool:
    """The start-up's own direction: states first, then blocks of each pool, then whether the load fits all."""
    left = budget - int(cache.state(tokens, batch))
    return left >= 0 and all(
        pool.blocks_of(left, cache.block, rounds_up=cache.rounds_up) >= cache.blocks(pool, tokens, batch)
        for pool in cache.pools
    )


@settings(max_examples=60, deadline=None)
@given(names, pools, options, st.integers(1, 20_000), st.integers(1, 60))
def test_capacity_is_exact(name: str, pool: int, chosen: dict[str, Any], tokens: int, batch: int) -> None:
    plan = planned(name, pool, chosen)
    if plan is not None:
        check_capacity(plan, tokens, batch)


@settings(max_examples=60, deadline=None)
@given(names, pools, options)
def test_a_resolved_scenario_plans_alike(name: str, pool: int, chosen: dict[str, Any]) -> None:
    first = planned(name, pool, chosen)
    if first is None:
        return
    again = ENGINE.plan(first.scenario, MODELS[name], None)
    assert (again.scenario, again.printed, again.needed_kv_bytes, again.notes) == (
        first.scenario,
        first.printed,
        first.needed_kv_bytes,
        first.notes,
    )


def test_the_printed_tokens_fit_in_one_sequence() -> None:
    plan = plan_of(LLAMA_8B, available_kv_bytes=40 * GIB)
    tokens = plan.printed.kv_tokens or 0
    assert plan.fits(tokens, 1)
    assert not plan.fits(tokens + 1, 1)
