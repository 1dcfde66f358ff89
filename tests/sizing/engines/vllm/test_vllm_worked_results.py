"""What vLLM 0.33's own planner gave for these models, from their dimensions.

They come from running vLLM 0.33's planning functions: T = 8,192, 40 GiB for the cache, SM90 unless said.
"""

from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.spec import Indexer, LatentAttention, ModelSpec
from tests.sizing.engines.dimensions import kda
from tests.sizing.engines.vllm import models as m

A100, B200 = get_accelerator("a100-sxm4-80gb"), get_accelerator("b200-sxm")
Groups = list[tuple[int, int, int]]


def spread(*counts: int, block: int, blocks: int) -> Groups:
    return [(count, block, blocks) for count in counts]


@pytest.mark.parametrize(
    ("spec", "settings", "groups", "block_bytes", "bytes_per_request", "tokens"),
    [
        (m.LLAMA_8B, {"max_model_len": 131_072}, [(32, 16, 8192)], 2_097_152, 17_179_869_184, 327_680),
        (
            m.GEMMA3_27B,
            {"max_model_len": 131_072},
            [*spread(9, 9, 9, 9, 8, 8, block=16, blocks=1089), (10, 16, 8192)],
            1_310_720,
            19_301_662_720,
            291_658,
        ),
        (
            m.GEMMA3_27B,
            {"max_model_len": 131_072, "max_num_batched_tokens": 2048},
            [*spread(9, 9, 9, 9, 8, 8, block=16, blocks=321), (10, 16, 8192)],
            1_310_720,
            13_261_864_960,
            424_487,
        ),
        (
            m.GEMMA3_27B,
            {"max_model_len": 131_072, "hybrid_kv_cache_manager": False},
            [(62, 16, 8192)],
            8_126_464,
            66_571_993_088,
            84_560,
        ),
        (
            m.GPT_OSS_120B,
            {"max_model_len": 131_072},
            [(18, 16, 1033), (18, 16, 8192)],
            589_824,
            5_441_126_400,
            1_034_609,
        ),
        (
            m.GPT_OSS_120B,
            {"max_model_len": 131_072, "tensor_parallel": 8},
            [(18, 16, 1033), (18, 16, 8192)],
            73_728,
            680_140_800,
            8_276_958,
        ),
        (
            m.GEMMA4_26B,
            {"max_model_len": 131_072},
            [*spread(5, 5, 5, 5, 5, block=16, blocks=1089), (5, 32, 4096)],
            655_360,
            6_252_789_760,
            900_318,
        ),
        (
            m.GEMMA3N_E4B,
            {"max_model_len": 32_768},
            [*spread(4, 4, 4, 4, block=16, blocks=1057), (4, 16, 2048)],
            131_072,
            822_607_872,
            1_710_869,
        ),
        (
            m.MIMO_V2_FLASH,
            {"max_model_len": 131_072},
            [(9, 32, 4096), *spread(8, 8, 8, 8, 7, block=16, blocks=1033)],
            737_280,
            6_827_950_080,
            824_475,
        ),
        (
            m.SCOUT,
            {"max_model_len": 131_072},
            [*spread(12, 12, 12, block=16, blocks=1536), (12, 16, 8192)],
            786_432,
            10_066_329_600,
            559_237,
        ),
        (
            m.SCOUT,
            {"max_model_len": 131_072, "hybrid_kv_cache_manager": False},
            [(48, 16, 8192)],
            3_145_728,
            25_769_803_776,
            218_448,
        ),
        (m.DEEPSEEK_V3, {"max_model_len": 163_840}, [(61, 16, 10_240)], 1_124_352, 11_513_364_480, 611_184),
        (
            m.DEEPSEEK_V3,
            {"max_model_len": 163_840, "kv_dtype": "fp8"},
            [(61, 64, 2560)],
            2_248_704,
            5_756_682_240,
            1_222_336,
        ),
        (m.DEEPSEEK_V32, {"max_model_len": 163_840}, [(122, 64, 2560)], 5_012_736, 12_832_604_160, 548_352),
        (
            m.DEEPSEEK_V32,
            {"max_model_len": 163_840, "kv_dtype": "fp8"},
            [(122, 64, 2560)],
            3_076_352,
            7_875_461_120,
            893_504,
        ),
        (m.WHISPER, {"max_model_len": 448}, [(32, 16, 28), (32, 16, 512)], 2_621_440, 1_415_577_600, 13_592),
    ],
)
def test_attention_models(
    spec: ModelSpec, settings: dict[str, Any], groups: Groups, block_bytes: int, bytes_per_request: int, tokens: int
) -> None:
    planned = m.plan(spec, **settings)
    assert m.groups(spec, **settings) == groups
    assert m.block_bytes(planned) == block_bytes
    assert planned.needed_kv_bytes == bytes_per_request
    assert planned.printed.kv_tokens == tokens


def test_dense_latent_attention_on_sm100() -> None:
    planned = m.plan(m.DEEPSEEK_V3, B200, max_model_len=163_840)
    assert m.groups(m.DEEPSEEK_V3, B200, max_model_len=163_840) == [(61, 32, 5120)]
    assert planned.printed.kv_tokens == 611_168


@pytest.mark.parametrize(
    ("spec", "accelerator", "settings", "block", "page", "block_bytes", "tokens"),
    [
        (m.QWEN3_NEXT, A100, {"max_model_len": 262_144}, 544, 1_114_112, 13_369_344, 1_725_423),
        (m.QWEN3_NEXT, None, {"max_model_len": 262_144}, 576, 1_179_648, 14_155_776, 1_710_419),
        (
            m.QWEN3_NEXT,
            None,
            {"max_model_len": 262_144, "prefix_caching": False},
            544,
            1_114_112,
            13_369_344,
            1_736_095,
        ),
        (m.QWEN35_35B, None, {"max_model_len": 262_144}, 1088, 2_228_224, 22_282_240, 2_020_605),
        (m.QWEN35_35B, A100, {"max_model_len": 262_144}, 1056, 2_162_688, 21_626_880, 2_040_611),
        (m.NEMOTRON_H_8B, None, {"max_model_len": 8192}, 1040, 4_259_840, 17_039_360, 793_993),
        (m.NEMOTRON_3_NANO, None, {"max_model_len": 262_144}, 2096, 2_146_304, 12_877_824, 6_335_146),
        (
            m.NEMOTRON_3_NANO,
            None,
            {"max_model_len": 262_144, "kv_dtype": "fp8"},
            4176,
            2_138_112,
            12_828_672,
            11_698_612,
        ),
        (m.KIMI_LINEAR, None, {"max_model_len": 1_048_576}, 1920, 2_211_840, 15_482_880, 5_259_945),
        (m.KIMI_K3, None, {"max_model_len": 1_048_576, "tensor_parallel": 8}, 768, 884_736, 21_233_664, 1_541_978),
        (m.LFM2_1B, None, {"max_model_len": 128_000}, 16, 32_768, 196_608, 3_493_501),
    ],
)
def test_recurrent_hybrids(
    spec: ModelSpec, accelerator: Any, settings: dict[str, Any], block: int, page: int, block_bytes: int, tokens: int
) -> None:
    planned = m.plan(spec, accelerator, **settings)
    assert planned.scenario.block_size == block
    assert m.block_bytes(planned) == block_bytes
    assert block_bytes % page == 0
    assert planned.printed.kv_tokens == tokens


def test_v1_concurrency() -> None:
    printed = m.plan(m.LLAMA_8B, max_model_len=131_072).printed
    assert (printed.num_blocks, printed.max_concurrency, printed.kv_tokens) == (20_480, 2.5, 327_680)


def test_v4_and_v12_blocks_per_request() -> None:
    aligned = m.groups(m.QWEN3_NEXT, A100, max_model_len=262_144)
    assert sum(blocks for _, _, blocks in aligned) == 488
    checkpoints = m.groups(m.QWEN3_NEXT, max_model_len=262_144)
    assert checkpoints == [(12, 576, 3), (12, 576, 3), (12, 576, 3), (12, 576, 456)]


def test_v5_nemotron_h_8b() -> None:
    found = m.groups(m.NEMOTRON_H_8B, max_model_len=8192)
    assert len(found) == 7 and sum(blocks for _, _, blocks in found) == 26


def test_v6_nemotron_h_56b() -> None:
    found = m.groups(m.NEMOTRON_H_56B, max_model_len=8192, tensor_parallel=8)
    assert sorted(layers for layers, _, _ in found) == [9, 9, 9, 9, 9, 9, 10]
    planned = m.plan(m.NEMOTRON_H_56B, max_model_len=8192, tensor_parallel=8)
    assert (planned.scenario.block_size, m.block_bytes(planned)) == (4128, 21_135_360)


@pytest.mark.parametrize(("kv_dtype", "per_token"), [("fp8", 48_068), ("auto", 78_324)])
def test_v7_bytes_per_token(kv_dtype: str, per_token: int) -> None:
    planned = m.plan(m.DEEPSEEK_V32, max_model_len=163_840, kv_dtype=kv_dtype)
    assert planned.needed_kv_bytes == per_token * 163_840


def test_v8_gemma4_31b() -> None:
    found = m.groups(m.GEMMA4_31B, max_model_len=131_072)
    assert len(found) == 6 and found[-1] == (10, 32, 4096)
    assert sum(blocks for _, _, blocks in found) == 9541
    assert m.block_bytes(m.plan(m.GEMMA4_31B, max_model_len=131_072)) == 2_621_440


def test_v9_deepseek_v4_flash() -> None:
    found = m.groups(m.V4_FLASH, max_model_len=131_072)
    assert [blocks for _, _, blocks in found] == [259, 259, 512, 4099, 2065]
    planned = m.plan(m.V4_FLASH, max_model_len=131_072)
    assert m.block_bytes(planned) == 1_002_240
    assert (planned.printed.num_blocks, planned.printed.kv_tokens) == (42_853, 780_765)


def test_v13_pipeline_stages() -> None:
    """16 of 61 layers on the fullest stage; windows reserve five batches."""
    planned = m.plan(m.DEEPSEEK_V3, max_model_len=163_840, pipeline_parallel=4)
    sizes = [int(rank.cache.need(16, 1)) for rank in planned.ranks]
    assert sizes == [15 * 18_432, 15 * 18_432, 294_912, 15 * 18_432]
    windows = m.groups(m.GPT_OSS_120B, max_model_len=131_072, pipeline_parallel=4)
    assert windows[0][2] == -(-(127 + 40_960) // 16) + 1


def test_decode_context_parallel() -> None:
    """DeepSeek-V3 at 131,072 tokens: 9,210,691,584 bytes a rank, 1,151,336,448 with dcp 8 (section 9)."""
    one = m.plan(m.DEEPSEEK_V3, max_model_len=131_072, tensor_parallel=8)
    eight = m.plan(m.DEEPSEEK_V3, max_model_len=131_072, tensor_parallel=8, decode_context_parallel=8)
    assert (one.needed_kv_bytes, eight.needed_kv_bytes) == (9_210_691_584, 1_151_336_448)


def test_whisper_settles_to_its_encoder_tokens() -> None:
    """Section 2.3: 28 + 512 blocks at start-up, 28 + 94 in use."""
    rank = m.plan(m.WHISPER, max_model_len=448).ranks[0]
    assert int(rank.cache.live(448, 1)) == (28 + 94) * 2_621_440


def test_gemma3_settles_to_65_blocks_a_window() -> None:
    """Section 2.3, reading: ceil(1023/16) + 1 blocks in each of the six sliding groups."""
    rank = m.plan(m.GEMMA3_27B, max_model_len=131_072).ranks[0]
    most = max(int(rank.cache.live(tokens, 1)) // 1_310_720 - -(-tokens // 16) for tokens in range(2000, 2064))
    assert most == 6 * 65


def test_pooled_index_keys_share_a_block_with_latents() -> None:
    """GLM-5.3-Flash at tp 2 (kv_cache_planning.py, its own grouping): states are dealt over 11 latents' pages.

    A state is 32 × 128 × 128 × 4 + 12,288 × 3 × 2 = 2,170,880 bytes, 17 × 128 tokens of 1,024; a block holds 11
    latents of 2,176 × 1,024 and 11 index pages of 2,176 / 16 × 132.
    """
    latent = LatentAttention(
        heads=64,
        latent_dim=512,
        rope_dim=0,
        nope_dim=256,
        value_dim=256,
        indexer=Indexer(head_dim=128, heads=32, top_k=2048, pool=16),
    )
    spec = m.pattern(11, (3, kda(64, 128)), (1, latent), model_type="glm5_next")
    settings = {"tensor_parallel": 2, "max_model_len": 131_072}
    assert m.groups(spec, A100, **settings) == [
        (22, 2176, 61),
        (11, 2176, 1),
        *spread(11, 11, 11, block=2176, blocks=2),
    ]
    assert m.block_bytes(m.plan(spec, A100, **settings)) == 11 * (2176 * 1024 + 136 * 132)
