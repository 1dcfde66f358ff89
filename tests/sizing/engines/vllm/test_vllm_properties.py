"""What holds for every model and setting of engine vllm."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.room import replica_batches
from sizing.scenario import make_scenario
from sizing.size import report_of
from tests.sizing.engines.vllm import models as m

SPECS: dict[str, ModelSpec] = {
    "full": m.LLAMA_8B,
    "windows": m.GEMMA3_27B,
    "shared": m.GEMMA3N_E4B,
    "chunks": m.SCOUT,
    "latent": m.DEEPSEEK_V3,
    "sparse": m.DEEPSEEK_V32,
    "compressed": m.V4_FLASH,
    "gated delta": m.QWEN3_NEXT,
    "mamba": m.NEMOTRON_H_8B,
    "kda": m.KIMI_LINEAR,
    "cross": m.WHISPER,
}
RELEASES = ("0.6.3", "0.8.5", "0.11.0", "0.20.0", "0.25.1", "0.33.0")
cases = st.fixed_dictionaries(
    {
        "engine_version": st.sampled_from(RELEASES),
        "pipeline_parallel": st.sampled_from((1, 2, 4)),
        "tensor_parallel": st.sampled_from((1, 2, 4)),
        "prefix_caching": st.sampled_from((None, True, False)),
        "max_num_batched_tokens": st.sampled_from((64, 2048, 8192)),
        "shared_prefix_tokens": st.sampled_from((0, 1, 700, 5000)),
    },
    optional={
        "speculative": st.just({"method": "ngram", "tokens": 3}),
        "lora": st.just({"max_loras": 2, "rank": 16}),
        "cpu_offload_bytes": st.sampled_from((0, 1, 2**33)),
        "media_limits": st.just({"image": 0, "video": 0, "audio": 0}),
        "pooling": st.booleans(),
    },
)


def plan_case(name: str, case: dict[str, Any]) -> EnginePlan:
    """The plan of a case; DeepSeek-V4 needs the hybrid manager."""
    assume(name != "compressed" or case["engine_version"] not in RELEASES[:2])
    return m.plan(SPECS[name], context_length=8192, **case)


@given(st.sampled_from(sorted(SPECS)), cases, st.integers(1, 300_000), st.integers(1, 500))
@settings(max_examples=150, deadline=None)
def test_reserved_covers_live(name: str, case: dict[str, Any], tokens: int, batch: int) -> None:
    for rank in plan_case(name, case).ranks:
        live = rank.cache.live(tokens, batch)
        assert 0 <= live <= rank.cache.kv(tokens, batch) + rank.cache.state(tokens, batch)
        assert rank.cache.need(tokens, batch) == rank.cache.kv(tokens, batch) + rank.cache.state(tokens, batch)


@given(st.sampled_from(sorted(SPECS)), cases, st.lists(st.integers(1, 300_000), min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_arrays_are_the_numbers(name: str, case: dict[str, Any], lengths: list[int]) -> None:
    tokens = np.array(lengths, dtype=np.int64)[:, None]
    batch = np.array([1, 7, 300], dtype=np.int64)[None, :]
    cache = plan_case(name, case).ranks[0].cache
    for rule in (cache.kv, cache.live, cache.need):
        expected = [[rule(length, int(number)) for number in batch[0]] for length in lengths]
        assert np.array_equal(np.broadcast_to(rule(tokens, batch), (len(lengths), 3)), np.array(expected))


@given(st.sampled_from(sorted(SPECS)), cases, st.integers(1, 100_000), st.integers(1, 64))
@settings(max_examples=80, deadline=None)
def test_need_never_falls(name: str, case: dict[str, Any], tokens: int, batch: int) -> None:
    """Of lengths that hold the shared prefix; no others can be asked for."""
    cache, tokens = plan_case(name, case).ranks[0].cache, max(tokens, case["shared_prefix_tokens"])
    assert cache.need(tokens, batch) <= cache.need(tokens + 1, batch)
    assert cache.need(tokens, batch) <= cache.need(tokens, batch + 1)


@pytest.mark.parametrize("name", sorted(SPECS))
@pytest.mark.parametrize("gib", [3, 40])
def test_capacity_and_footprint_agree(name: str, gib: int) -> None:
    """As many sequences as are said to fit do fit, and one more does not."""
    planned = m.plan(SPECS[name], available_kv_bytes=gib * m.GIB, context_length=4000, max_model_len=8192)
    capacity = report_of(planned).capacity
    most = capacity.max_batch_at_context
    assert most is not None
    for rank in planned.ranks:
        assert rank.usable is not None
    assert most == 0 or planned.fits(4000, most)
    assert not planned.fits(4000, most + 1)
    longest = capacity.max_context_at_batch
    assert longest is not None
    assert longest == 0 or planned.fits(longest, 1)


@pytest.mark.parametrize("name", sorted(SPECS))
def test_a_resolved_scenario_plans_the_same(name: str) -> None:
    first = m.plan(SPECS[name], kv_dtype="auto")
    values = first.scenario.model_dump(mode="json")
    assert make_scenario(values) == first.scenario
    again = m.plan(SPECS[name], **{key: value for key, value in values.items() if key not in ("model", "engine")})
    assert again.scenario == first.scenario
    assert (again.needed_kv_bytes, again.printed) == (first.needed_kv_bytes, first.printed)


def test_one_sequence_is_its_blocks() -> None:
    """What one sequence needs is its blocks times their size, and the pool leaves out the null block."""
    planned = m.plan(m.GEMMA3_27B, max_model_len=131_072)
    rank = planned.ranks[0]
    blocks = sum(count for _, _, count in m.groups(m.GEMMA3_27B, max_model_len=131_072))
    assert rank.cache.need(131_072, 1) == blocks * 1_310_720
    assert rank.usable == ((planned.printed.num_blocks or 0) - 1) * 1_310_720


def test_replicas_have_pools_of_their_own() -> None:
    planned = m.plan(m.LLAMA_8B, data_parallel=2, batch_size=5, max_model_len=8192, context_length=8192)
    assert replica_batches(planned.scenario) == [3, 2]
    assert report_of(planned).capacity.max_batch_at_context == 2 * ((20_480 - 1) // 512)


@pytest.mark.parametrize(
    ("spec", "settings", "longest"),
    [
        (m.spec_of((40, m.heads(64, 128))), {}, 32_752),  # Command R v01
        (m.spec_of((40, m.heads(64, 128))), {"tensor_parallel": 2}, 65_520),  # the same
        (m.spec_of((80, m.heads(8, 128))), {}, 131_056),  # Llama-3.1-70B
        (m.spec_of((88, m.heads(8, 128, query_heads=96))), {}, 119_136),  # Mistral Large
        (m.spec_of((32, m.heads(32, 96, query_heads=32, window=262_144))), {}, 109_184),  # Phi-3 mini
    ],
)
def test_longest_context_is_what_vllm_proposes(spec: ModelSpec, settings: dict[str, Any], longest: int) -> None:
    """vLLM 0.33 with 40 GiB for the cache: "the estimated maximum model length is ..." (plan rows named above)."""
    planned = m.plan(spec, max_model_len=131_072, **settings)
    assert report_of(planned).capacity.max_context_at_batch == longest
