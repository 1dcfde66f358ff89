"""Rules of engine tensorrt-llm with numbers from its sources, and the settings it turns away."""

from fractions import Fraction
from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from model_catalog.spec import CrossAttention, Recurrent
from sizing.engines.tensorrt_llm import ENGINE
from sizing.engines.tensorrt_llm.layers import FULL, Lane
from sizing.engines.tensorrt_llm.pools import StageCache, pools_of
from sizing.scenario import ScenarioError, make_scenario
from tests.sizing.engines.dimensions import INDEXER, attention, kda, latent, spec_of
from tests.sizing.engines.tensorrt_llm.models import GPT_OSS_20B, LLAMA_8B, MHA_7B, plan_of

GIB = 2**30


def rate(spec: Any, **settings: Any) -> int:
    """Bytes of a block over its tokens."""
    planned = plan_of(spec, **settings)
    block = planned.scenario.block_size or 1
    return int(planned.ranks[0].cache.kv(block, 1)) // block


def test_share_of_windows() -> None:
    """kvCacheManager.h calculateWindowSizeToShare: {1024: [1], 4096: [0, 4, 5], 8192: [2, 3]}."""
    pools = pools_of(((FULL, 2), (Lane("window", 1024), 1), (Lane("window", 4096), 3)), block=1, longest=8192)
    shares = {pool.lane.tokens or 8192: float(Fraction(pool.block_bytes) / pool.charge) for pool in pools}
    assert {window: round(each, 4) for window, each in shares.items()} == {1024: 0.0345, 4096: 0.4138, 8192: 0.5517}


@pytest.mark.parametrize(
    ("kv_dtype", "bytes_a_token"),
    [("auto", 131_072), ("fp8", 65_536), ("nvfp4", 36_864)],  # section 8: 512, 256 and 144 a head; t001
)
def test_bytes_a_token(kv_dtype: str, bytes_a_token: int) -> None:
    assert rate(LLAMA_8B, kv_dtype=kv_dtype) == bytes_a_token


def test_heads_are_replicated_and_latents_are_not_divided() -> None:
    """Section 9: Llama-3.1-8B at TP 16 has 16,384 B a token and rank; section 1: DeepSeek-V3 70,272 on each."""
    assert rate(LLAMA_8B, tensor_parallel=16) == 16_384
    assert rate(find_entry("deepseek-ai/DeepSeek-V3").spec, tensor_parallel=8) == 70_272


def test_attention_data_parallelism_divides_no_heads() -> None:
    assert rate(LLAMA_8B, tensor_parallel=8, data_parallel=8, dp_attention=True) == 131_072
    whole = plan_of(find_entry("deepseek-ai/DeepSeek-V3").spec, tensor_parallel=8, data_parallel=8, dp_attention=True)
    assert whole.ranks[0].weights > plan_of(whole.spec, tensor_parallel=8).ranks[0].weights


def test_the_index_key_of_sparse_attention_has_132_bytes() -> None:
    """Section 1: V3.2, 61 × 132 = 8,052 B a token beside the latents."""
    assert rate(spec_of((61, latent(128, INDEXER)))) == 70_272 + 8_052


def test_the_fraction_is_taken_of_what_is_left() -> None:
    """Section 5: 80 GiB, 20 taken: (80 − 20) × 0.9 = 54 GiB."""
    rank = plan_of(LLAMA_8B).ranks[0]
    beside = rank.activation + rank.runtime
    planned = plan_of(LLAMA_8B, total_memory_bytes=80 * GIB, other_memory_bytes=20 * GIB - beside)
    assert planned.ranks[0].available == 54 * GIB
    assert planned.budget == 54 * GIB + beside


def test_activations_of_the_profiling_pass() -> None:
    """Section 11: Llama-3.1-8B, 8,192 tokens × (2 × 4,096 + 3 × 14,336) × 2 B = 0.78 GiB."""
    rank = plan_of(find_entry("meta-llama/Llama-3.1-8B-Instruct").spec).ranks[0]
    assert rank.activation == 8192 * (2 * 4096 + 3 * 14_336) * 2


def test_blocks_are_rounded_up_until_11_and_down_since() -> None:
    """resource_manager.py calculate_max_num_blocks; late 2025 takes the ceiling, main of 2026 the floor."""
    budget = 100 * 32 * 131_072 + 1 * 131_072
    assert plan_of(LLAMA_8B, engine_version="1.1", available_kv_bytes=budget).printed.num_blocks == 101
    assert plan_of(LLAMA_8B, engine_version="1.2", available_kv_bytes=budget).printed.num_blocks == 100


def test_windows_have_pools_of_their_own() -> None:
    """Up to 1.1 pools hold equally many windows: 131,072 / 128 tokens more in the full one."""
    settings = {"engine_version": "1.1", "hybrid_kv_cache_manager": True}
    planned = plan_of(GPT_OSS_20B, available_kv_bytes=40 * GIB, **settings)
    full, window = (line for line in planned.log.lines if line.startswith("[windowSize"))
    # 12 layers × 2,048 B: 40 GiB × 131,072 / (24,576 × (131,072 + 128)) tokens, in blocks of 32, rounded up
    assert full == "[windowSize=131072] {.primaryBlocks=54561, .secondayBlocks=0}"
    assert window == "[windowSize=128] {.primaryBlocks=54, .secondayBlocks=0}"
    assert 40 * GIB * 131_072 // (24_576 * 131_200) == 1_745_921


def test_pools_by_window_share_alike_since_12() -> None:
    """calculate_max_num_blocks_for_vswa: half of the memory each, in whole blocks of 32 tokens of 24,576 B."""
    planned = plan_of(GPT_OSS_20B, available_kv_bytes=40 * GIB, hybrid_kv_cache_manager=True)
    lines = [line for line in planned.log.lines if line.startswith("[windowSize")]
    blocks = 20 * GIB // (24_576 * 32)
    assert [line.partition("=")[2].partition("]")[0] for line in lines] == ["131072", "128"]
    assert all(f"primaryBlocks={blocks}," in line for line in lines)


def test_windows_save_nothing_unless_they_are_given() -> None:
    """max_attention_window is not derived from the config (pull 5722, which would have, was closed unmerged)."""
    planned = plan_of(GPT_OSS_20B, available_kv_bytes=GIB)
    assert planned.printed.kv_tokens == 21_824
    assert any("max_attention_window is not given" in note for note in planned.notes)


def test_gemma_3_on_one_h100() -> None:
    """8,192 tokens of 62 × 8,192 B, or 10 layers of them and 33 blocks of 52 layers in half of the memory each."""
    spec, card = find_entry("google/gemma-3-27b-it").spec, get_accelerator("h100-sxm5-80gb")
    usual = {"model": "test", "engine": "tensorrt-llm", "context_length": 8192}
    whole, windows = (
        ENGINE.plan(make_scenario(usual | {"hybrid_kv_cache_manager": own}), spec, card) for own in (None, True)
    )
    pool = whole.ranks[0].available
    assert pool is not None
    assert whole.fits(8192, pool // (62 * 8192 * 8192))
    assert not whole.fits(8192, pool // (62 * 8192 * 8192) + 1)
    most = min(pool // 2 // (10 * 8192 * 32) // 256, pool // 2 // (52 * 8192 * 32) // 33)
    assert windows.fits(8192, most)
    assert not windows.fits(8192, most + 1)
    assert most > 2 * (pool // (62 * 8192 * 8192))


def test_a_sequence_keeps_its_window_and_a_block() -> None:
    cache = plan_of(GPT_OSS_20B, hybrid_kv_cache_manager=True).ranks[0].cache
    each = 12 * 2 * 8 * 64 * 2 * 32
    assert cache.kv(32, 1) == 2 * each
    assert cache.kv(128 * 32, 1) == (128 + 5) * each


def test_states_are_set_aside_for_the_largest_batch() -> None:
    """Section 16's vendor figure, 454.5 MB a request of Kimi-K3: 69 layers, 96 heads of 128, 4 columns, fp32 state."""
    spec = spec_of((69, kda(96, 128)), (23, attention(8, 8, 128)), model_type="kimi_k3")
    cache = plan_of(spec, max_num_seqs=64).ranks[0].cache
    assert cache.state(1000, 1) == 64 * 454_459_392
    assert round(454_459_392 / 1e6, 1) == 454.5
    assert cache.live(1000, 2) - cache.kv(1000, 2) == 2 * 454_459_392


def test_nemotron_keeps_states_as_its_config_asks() -> None:
    """Section 7: Nemotron-H-8B, 61,440 + 4,194,304 a layer with fp32 states."""
    mamba = Recurrent(
        kind="mamba2",
        heads=128,
        state_elements=128 * 64 * 128,
        conv_channels=10_240,
        conv_kernel=4,
        state_dtype="fp32",
    )
    cache = plan_of(spec_of((24, mamba)), max_num_seqs=1).ranks[0].cache
    assert cache.state(1, 1) == 102_137_856


def test_half_of_the_cache_is_for_cross_attention() -> None:
    """Section 1: Whisper-large-v3 keeps 163,840 × 1500 B of its encoder; in blocks of 32 tokens 1504."""
    cross = CrossAttention(heads=20, kv_heads=20, head_dim=64, value_dim=64, source_tokens=1500)
    planned = plan_of(spec_of((32, cross), (32, attention(20, 20, 64)), max_context=448), available_kv_bytes=GIB)
    cache = planned.ranks[0].cache
    assert isinstance(cache, StageCache)
    assert cache.kv(32, 1) == 163_840 * (1504 + 32)
    assert cache.need(32, 1) == 2 * 163_840 * (46 * 32 + 1)  # a block begun counts as whole


def test_a_request_takes_all_blocks_that_it_will_need() -> None:
    """Section 13: floor(prompt / 32) + ceil((rest + new) / 32), whatever part of the tokens is prompt."""
    cache = plan_of(LLAMA_8B).ranks[0].cache
    for prompt, new in ((8_000, 1_000), (31, 2), (64, 1)):
        blocks = prompt // 32 + -(-(prompt % 32 + new) // 32)
        assert cache.kv(prompt + new, 1) == blocks * 32 * 131_072


def test_a_shared_prefix_is_stored_once_by_whole_blocks() -> None:
    with_reuse = plan_of(LLAMA_8B, shared_prefix_tokens=1000, context_length=2000)
    cache = with_reuse.ranks[0].cache
    assert cache.kv(2000, 4) == (4 * (63 - 31) + 31) * 32 * 131_072
    off = plan_of(LLAMA_8B, shared_prefix_tokens=1000, context_length=2000, prefix_caching=False)
    assert off.ranks[0].cache.kv(2000, 4) == 4 * 63 * 32 * 131_072


def test_max_seq_len_is_lowered_to_what_fits() -> None:
    planned = plan_of(MHA_7B, available_kv_bytes=100 * 32 * 524_288)
    assert any("max_seq_len to 3,200 tokens" in note for note in planned.notes)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"memory_fraction": 1.0}, "memory_fraction"),
        ({"block_size": 48}, "block_size"),
        ({"kv_dtype": "q8_0"}, "kv_dtype"),
        ({"kv_dtype": "int8"}, "kv_dtype"),
        ({"kv_dtype": {"k": "fp8", "v": "bf16"}}, "kv_dtype"),
        ({"kv_dtype": "nvfp4", "engine_version": "0.19"}, "kv_dtype"),
        ({"hybrid_kv_cache_manager": True, "engine_version": "0.19"}, "hybrid_kv_cache_manager"),
        ({"tensor_parallel": 2, "decode_context_parallel": 2}, "decode_context_parallel"),
        ({"tensor_parallel": 4, "data_parallel": 2, "dp_attention": True}, "data_parallel"),
        ({"max_model_len": 4096, "context_length": 5000}, "context_length"),
        ({"ubatch_size": 512}, "ubatch_size"),
    ],
)
def test_refused(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        plan_of(LLAMA_8B, **settings)
    assert caught.value.field == field


def test_stages_need_the_same_windows() -> None:
    with pytest.raises(ScenarioError, match="different windows"):
        plan_of(GPT_OSS_20B, pipeline_parallel=2, hybrid_kv_cache_manager=True)


def test_int8_is_of_engines_before_10() -> None:
    assert rate(MHA_7B, kv_dtype="int8", engine_version="0.16") == 262_144


@pytest.mark.parametrize(("text", "noted"), [("1.2.0rc3", False), ("0.5.0", True), ("3.0", True), ("main", True)])
def test_releases(text: str, noted: bool) -> None:
    planned = plan_of(LLAMA_8B, engine_version=text)
    assert any("the rules used are those of" in note.lower() for note in planned.notes) == noted
