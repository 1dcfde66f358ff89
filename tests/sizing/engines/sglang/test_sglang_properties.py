"""What must hold of every plan of engine sglang, whatever the model and settings."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.engines.plan import EnginePlan
from sizing.engines.sglang import ENGINE
from sizing.engines.sglang.cache import StageCache
from sizing.engines.sglang.rules import VERSIONS
from sizing.scenario import ScenarioError, make_scenario
from tests.sizing.engines.dimensions import check_capacity
from tests.sizing.engines.sglang.models import MODELS, plan_of

GIB = 2**30
LATER = ("lora", "mamba_full_memory_ratio", "max_mamba_cache_size")
names = st.sampled_from(sorted(MODELS))
pools = st.integers(min_value=GIB // 4, max_value=120 * GIB)
options = st.fixed_dictionaries(
    {
        "engine_version": st.sampled_from(VERSIONS),
        "tensor_parallel": st.sampled_from([1, 2, 4]),
        "pipeline_parallel": st.sampled_from([1, 2]),
        "prefix_caching": st.booleans(),
    },
    optional={
        "block_size": st.sampled_from([16, 64]),
        "kv_dtype": st.sampled_from(["auto", "fp8_e4m3"]),
        "max_num_seqs": st.integers(1, 500),
        "swa_full_tokens_ratio": st.sampled_from([0.1, 0.35, 1.0]),
        "shared_prefix_tokens": st.integers(0, 3000),
        "context_length": st.just(4000),
        "cpu_offload_bytes": st.sampled_from([0, 2**33, 2**45]),
        "mamba_full_memory_ratio": st.sampled_from([0.1, 5.0]),
        "max_mamba_cache_size": st.sampled_from([1, 400]),
        "lora": st.just({"max_loras": 2, "rank": 16}),
        "speculative": st.builds(lambda tokens: {"method": "eagle", "tokens": tokens}, st.integers(1, 6)),
    },
)


def planned(name: str, pool: int, chosen: dict[str, Any]) -> EnginePlan | None:
    """None where SGLang refuses the ratio, or the release does not have the setting."""
    if "shared_prefix_tokens" in chosen:
        chosen = {**chosen, "context_length": 4000}
    try:
        return plan_of(MODELS[name], available_kv_bytes=pool, **chosen)
    except ScenarioError as error:
        if error.field not in ("swa_full_tokens_ratio", "pipeline_parallel", *LATER):
            raise
        return None


@settings(max_examples=150, deadline=None)
@given(names, pools, options, st.integers(1, 200_000), st.integers(1, 300))
def test_reserved_covers_live(name: str, pool: int, chosen: dict[str, Any], tokens: int, batch: int) -> None:
    plan = planned(name, pool, chosen)
    for rank in plan.ranks if plan else ():
        reserved = rank.cache.kv(tokens, batch) + rank.cache.state(tokens, batch)
        assert reserved >= rank.cache.live(tokens, batch) >= 0
        assert rank.cache.need(tokens, batch) > 0 or reserved == 0


@settings(max_examples=100, deadline=None)
@given(names, pools, options)
def test_arrays_equal_numbers(name: str, pool: int, chosen: dict[str, Any]) -> None:
    plan = planned(name, pool, chosen)
    tokens = np.array([1, 100, 1023, 1024, 8_000, 65_537], dtype=np.int64)[None, :]
    batch = np.array([1, 2, 17, 256], dtype=np.int64)[:, None]
    for rank in plan.ranks if plan else ():
        for ask in (rank.cache.kv, rank.cache.state, rank.cache.live, rank.cache.need):
            grid = np.broadcast_to(np.asarray(ask(tokens, batch)), (4, 6))
            assert [[int(ask(int(n), int(b))) for n in tokens[0]] for b in batch[:, 0]] == grid.tolist()


@settings(max_examples=150, deadline=None)
@given(names, pools, options, st.integers(1, 40_000), st.integers(1, 100))
def test_the_need_is_the_smallest_pool_that_holds_the_load(
    name: str, pool: int, chosen: dict[str, Any], tokens: int, batch: int
) -> None:
    """Split forward, a pool of the need holds the load and one byte less does not; the plan's own pool agrees."""
    plan = planned(name, pool, chosen)
    for rank in plan.ranks if plan else ():
        assert isinstance(rank.cache, StageCache)
        free = StageCache(rank.cache.stage, rank.cache.prefix)
        need = int(free.need(tokens, batch))
        assert holds(free, need, tokens, batch)
        assert not holds(free, need - 1, tokens, batch)
        assert (int(rank.cache.need(tokens, batch)) <= pool) == holds(free, pool, tokens, batch)


def holds(cache: StageCache, budget: int, tokens: int, batch: int) -> bool:
    """The start-up's own direction: slots first, then tokens, then whether the load fits both pools."""
    stage = cache.stage
    full, window = cache._rows(tokens, batch)
    if stage.slots is not None:
        count = stage.slots.count(budget)
        if stage.slots.fixed is None and count < stage.slots_each * batch:
            return False
        asked = count if stage.slots.fixed is None else max(count, stage.slots_each * batch)
        budget -= int(stage.slots.charge(asked))
    if budget < 0:
        return False
    full_pool, window_pool = stage.pools.sizes(budget)
    if stage.pools.cap is not None or stage.pools.ratio is None:
        return bool(full_pool >= full and budget >= stage.pools.fixed)
    enough = window_pool >= max(window, stage.pools.least_window) and budget >= stage.pools.fixed
    return bool(enough and (stage.all_window or full_pool >= full))


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
    again = ENGINE.plan(first.scenario, first.spec, None)
    assert (again.scenario, again.printed, again.needed_kv_bytes) == (
        first.scenario,
        first.printed,
        first.needed_kv_bytes,
    )


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_printed_tokens_fit_one_by_one(name: str) -> None:
    """A single sequence of all printed tokens fits, one of a page more does not, where only tokens are short."""
    plan = plan_of(MODELS[name], available_kv_bytes=40 * GIB)
    tokens = plan.printed.kv_tokens or 0
    page = plan.scenario.block_size or 1
    assert plan.fits(tokens, 1)
    assert not plan.fits(tokens + page, 1)


def test_the_same_scenario_without_memory_answers_what_it_needs() -> None:
    plan = ENGINE.plan(make_scenario({"model": "test", "engine": "sglang"}), MODELS["gpt-oss-120b"], None)
    assert plan.printed.kv_tokens is None
    assert plan.ranks[0].available is None
    assert plan.needed_kv_bytes > 0
