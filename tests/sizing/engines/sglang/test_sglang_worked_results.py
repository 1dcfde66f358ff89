"""Engine sglang against results worked out from its source (0.5.23)."""

from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.spec import CompressedAttention, ModelSpec
from sizing.engines.sglang import ENGINE
from sizing.engines.sglang.cache import StageCache
from sizing.engines.sglang.defaults import Card, Reserved, fraction_default
from sizing.engines.sglang.prefill_graphs import sizes_to
from sizing.engines.sglang.rules import NEWEST, release_of, rules_of
from sizing.engines.sglang.slots import Slots
from sizing.scenario import make_scenario
from tests.sizing.engines.dimensions import INDEXER, attention, latent, spec_of
from tests.sizing.engines.sglang.models import MODELS, plan_of, short_conv

GIB = 2**30


def cache_of(model: str, **settings: Any) -> StageCache:
    cache = plan_of(MODELS[model], available_kv_bytes=40 * GIB, **settings).ranks[0].cache
    assert isinstance(cache, StageCache)
    return cache


def tokens_of(model: str, pool: int = 40 * GIB, **settings: Any) -> int | None:
    return plan_of(MODELS[model], available_kv_bytes=pool, **settings).printed.kv_tokens


def held(model: str, **settings: Any) -> int:
    """Bytes that 256 tokens take, a multiple of every page."""
    return int(cache_of(model, **settings).kv(256, 1)) // 256


def charged(model: str, **settings: Any) -> float:
    return float(cache_of(model, **settings).stage.pools.cell)


def test_s1_gpt_oss_in_40_gib() -> None:
    planned = plan_of(MODELS["gpt-oss-120b"], available_kv_bytes=40 * GIB)
    assert planned.printed.kv_tokens == 647_269
    assert "full_layer_tokens=647269, swa_layer_tokens=517815" in planned.log.lines[0]
    assert charged("gpt-oss-120b") == 66_355.2


def test_s2_slot_of_qwen3_next() -> None:
    assert cache_of("Qwen3-Next", prefix_caching=False).state(1, 1) == 77_266_944


@pytest.mark.parametrize(("mib", "ranks", "fraction"), [(81_559, 1, 0.835), (143_771, 8, 0.897)])
def test_s3_default_fraction(mib: int, ranks: int, fraction: float) -> None:
    """Without graphs of prefill."""
    rules = rules_of(release_of(NEWEST)[1])
    assert fraction_default(rules, Card(mib=mib), Reserved(ranks=ranks)) == fraction


def test_the_default_fraction_is_that_of_the_card() -> None:
    """58 sizes of prefill graphs up to 8,192 tokens at 8 MiB each are left free too."""
    assert sizes_to(8192) == 58
    assert round((81_559 - (512 + 1.5 * 8192 + 128 + 512 + 58 * 8)) / 81_559, 3) == 0.830
    for settings in ({}, {"accelerator": "h100-sxm5-80gb"}, {"total_memory_bytes": 81_559 << 20}):
        assert plan_of(MODELS["Llama-3.1-8B"], **settings).scenario.memory_fraction == 0.830


# What handle_gpu_memory_settings of the release gives on an H100 of 81,559 MiB, worked out by hand from its sum:
# 512 + 1.5 a token of a chunk of 8,192 + 128 a rank + 2 × 256 for graphs = 13,440 MiB, and what the case adds.
@pytest.mark.parametrize(
    ("version", "model", "settings", "reserved"),
    [
        ("0.5.23", "Llama-3.1-8B", {}, 13_440 + 464),
        ("0.5.23", "Llama-3.1-8B", {"enforce_eager": True}, 13_440 - 512),
        ("0.5.23", "Llama-3.1-8B", {"pipeline_parallel": 2}, 13_440 + 128),
        ("0.5.18", "Llama-3.1-8B", {"pipeline_parallel": 2}, 13_440 + 128 + 464),
        ("0.5.23", "Llama-3.1-8B", {"max_num_seqs": 100}, 13_440 + 464 - 312),
        ("0.5.21", "Llama-3.1-8B", {"max_num_seqs": 100}, 13_440 + 464),
        ("0.5.23", "Llama-3.1-8B", {"chunked_prefill_size": 4096}, 10 * 1024),
        ("0.5.23", "Kimi-K2.5", {}, 13_440 + 1536),
        ("0.5.16", "DeepSeek-V3.2", {}, 13_440),
        ("0.5.17", "DeepSeek-V3.2", {}, 13_440 + 1536),
        ("0.5.12", "DeepSeek-V3.2", {}, 13_440),
        ("0.5.23", "DeepSeek-V4-Flash", {}, 13_440),
        ("0.5.23", "Ling-3.0-tiny", {}, 13_440),
        ("0.5.14", "Qwen3-Next", {}, 13_440),
        ("0.5.15", "Qwen3-Next", {}, 13_440 + 464),
        ("0.5.9", "Llama-3.1-8B", {}, 13_440),
        ("0.5.9", "Llama-3.1-8B", {"enforce_eager": True}, 13_440),
        ("0.5.9", "Llama-3.1-8B", {"speculative": {"method": "eagle"}}, 13_440 + 2048),
        ("0.5.13", "Llama-3.1-8B", {"speculative": {"method": "eagle"}}, 13_440 + 464 + 4096),
        ("0.5.14", "Llama-3.1-8B", {"speculative": {"method": "eagle"}}, 13_440 + 464),
        (
            "0.5.23",
            "Qwen3-30B-A3B",
            {"tensor_parallel": 4, "data_parallel": 4, "dp_attention": True},
            13_440 + 3 * 128 + 512 + 512 * 4 * 4.5 + 464,
        ),
        ("0.5.1", "Llama-3.1-8B", {}, (9.5 + 0.5) * 1024),
        ("0.5.1", "Llama-3.1-8B", {"speculative": {"method": "eagle"}}, (9.5 + 0.5 + 2) * 1024),
        ("0.4.9", "Qwen3-30B-A3B", {"tensor_parallel": 4, "data_parallel": 4, "dp_attention": True}, 15.5 * 1024),
    ],
)
def test_what_the_default_fraction_leaves_free(
    version: str, model: str, settings: dict[str, Any], reserved: float
) -> None:
    planned = plan_of(MODELS[model], engine_version=version, **settings)
    assert planned.scenario.memory_fraction == round((81_559 - reserved) / 81_559, 3)


@pytest.mark.parametrize(
    ("version", "mib", "chunk", "graphs"),
    [("0.5.3", 24_564, 2048, 16), ("0.5.18", 24_564, 2048, 24), ("0.5.20", 24_564, 4096, 48)],
)
def test_small_cards_by_release(version: str, mib: int, chunk: int, graphs: int) -> None:
    planned = plan_of(MODELS["Llama-3.1-8B"], engine_version=version, total_memory_bytes=mib << 20, pipeline_parallel=2)
    assert planned.scenario.chunked_prefill_size == chunk
    reserved = 512 + 1.5 * chunk + 256 + 2 * graphs + (8 * sizes_to(chunk) if version == "0.5.18" else 0)
    assert planned.scenario.memory_fraction == round((mib - reserved) / mib, 3)


@pytest.mark.parametrize(
    ("version", "mib", "fraction"),
    [
        ("0.4.6", 81_559, 0.88),
        ("0.4.6", 143_771, (143_771 - 18 * 1024) / 143_771),
        ("0.4.7", 183_359, 0.79),
        ("0.4.8", 183_359, round((183_359 - 32 * 1024) / 183_359, 3)),
    ],
)
def test_large_cards_of_old_releases(version: str, mib: int, fraction: float) -> None:
    planned = plan_of(MODELS["Llama-3.1-8B"], engine_version=version, total_memory_bytes=mib << 20)
    assert planned.scenario.memory_fraction == fraction


@pytest.mark.parametrize(("ranks", "fraction"), [(1, 0.88), (2, 0.87), (4, 0.85), (8, 0.81), (16, 0.79)])
def test_default_fraction_of_old_releases(ranks: int, fraction: float) -> None:
    planned = plan_of(MODELS["Llama-3.1-8B"], engine_version="0.4.4", tensor_parallel=min(ranks, 32))
    assert planned.scenario.memory_fraction == fraction


def test_qwen3_next_in_40_gib() -> None:
    """262 slots; left 21.07 GiB for 920,754 tokens; 52 requests at five slots each. Up to 0.5.15: 263, same charge."""
    planned = plan_of(MODELS["Qwen3-Next"], available_kv_bytes=40 * GIB)
    assert planned.printed.kv_tokens == 920_754
    assert planned.log.lines[0].startswith("Mamba Cache is allocated. max_mamba_cache_size: 262,")
    assert "max_running_requests=52," in planned.log.lines[-1]
    old = plan_of(MODELS["Qwen3-Next"], available_kv_bytes=40 * GIB, engine_version="0.5.13")
    assert old.printed.kv_tokens == 920_754
    assert old.log.lines[0].startswith("Mamba Cache is allocated. max_mamba_cache_size: 263,")
    assert "max_running_requests=87," in old.log.lines[-1]


@pytest.mark.parametrize(
    ("model", "settings", "size"),
    [
        ("Llama-3.1-8B", {}, 131_072),
        ("Llama-3.1-8B", {"tensor_parallel": 16}, 16_384),
        ("Llama-3.1-8B", {"kv_dtype": "fp8_e4m3"}, 65_536),
        ("Llama-3.1-8B", {"kv_dtype": "mxfp8"}, 264 * 8 * 32),
        ("Llama-3.1-8B", {"kv_dtype": "nvfp4"}, 36_864),
        ("Llama-3.1-8B", {"kv_dtype": "fp4_e2m1"}, 36_864),
        ("Gemma-3-27B", {}, 507_904),
        ("DeepSeek-V3.2", {}, 61 * (1152 + 132)),
        ("DeepSeek-V3.2", {"kv_dtype": "fp8"}, 61 * 788),
        ("DeepSeek-V3.2", {"kv_dtype": "fp8", "engine_version": "0.5.15"}, 61 * 788),
        ("Kimi-K2.5", {"tensor_parallel": 8}, 61 * 1152),
    ],
)
def test_bytes_held_a_token(model: str, settings: dict[str, Any], size: int) -> None:
    assert held(model, **settings) == size


@pytest.mark.parametrize(
    ("model", "settings", "size"),
    [
        ("DeepSeek-V3.2", {"kv_dtype": "fp8"}, 61 * 788),
        ("DeepSeek-V3.2", {"kv_dtype": "fp8", "engine_version": "0.5.15"}, 61 * 708),
        ("Llama-3.1-8B", {"kv_dtype": "fp4_e2m1", "engine_version": "0.5.15"}, 36_864),
        # 0.5.23 charges one fp8 buffer for prefill, of all layers: 8 heads of 128, key and value
        ("Llama-3.1-8B", {"kv_dtype": "nvfp4"}, 36_864 + 2_048),
        ("Gemma-4-12B", {"tensor_parallel": 2}, 16_384 + 0.8 * 163_840),
        ("MiMo-V2-Flash", {"tensor_parallel": 4}, 45_696),
        ("MiMo-V2-Flash", {"tensor_parallel": 4, "engine_version": "0.5.8"}, 80_640),
        # key and value dims differ, and releases up to 0.5.6 took the key's twice
        ("MiMo-V2-Flash", {"tensor_parallel": 4, "engine_version": "0.5.6"}, 2 * 192 * 2 * (39 * 2 + 9)),
    ],
)
def test_bytes_charged_a_token(model: str, settings: dict[str, Any], size: float) -> None:
    assert charged(model, **settings) == pytest.approx(size, rel=1e-12)


def test_the_old_mimo_rule_uses_two_thirds_of_the_budget() -> None:
    planned = plan_of(MODELS["MiMo-V2-Flash"], available_kv_bytes=40 * GIB, tensor_parallel=4, engine_version="0.5.8")
    full = planned.printed.kv_tokens or 0
    assert (full * 9 * 640 + int(0.8 * full) * 39 * 1280) / (40 * GIB) == pytest.approx(0.677, abs=0.0005)
    newer = tokens_of("MiMo-V2-Flash", tensor_parallel=4, engine_version="0.5.9")
    assert (newer or 0) / full == pytest.approx(1.48, abs=0.005)


def test_gemma_3n_pays_for_layers_that_share_a_cache() -> None:
    """35 layers of 2,048 bytes where 20 hold anything, and no saving by windows."""
    own, shared = attention(8, 2, 256, window=512), attention(8, 2, 256)
    spec = spec_of((20, own), (15, shared), model_type="gemma3n")
    assert plan_of(spec, available_kv_bytes=40 * GIB).ranks[0].cache.kv(1, 1) == 71_680


@pytest.mark.parametrize(
    ("version", "bounded"),
    [("0.5.10", False), ("0.5.11rc1", False), ("0.5.11", True), ("0.5.13", True)],
)
def test_the_release_that_bounds_windows_of_gemma_4(version: str, bounded: bool) -> None:
    kept = cache_of("Gemma-4-31B", engine_version=version).kv(100_000, 1)
    full = 100_000 * (50 * 16 * 512 + 10 * 4 * 1024) * 2
    assert (kept < full) == bounded


def test_gpt_oss_in_one_pool_before_0_5_8() -> None:
    assert tokens_of("gpt-oss-120b", engine_version="0.5.6") == 40 * GIB // (36 * 2048)


def test_latents_are_copied_on_every_rank_but_heads_are_shared_out() -> None:
    assert tokens_of("Kimi-K2.5", tensor_parallel=8) == tokens_of("Kimi-K2.5")
    assert held("Llama-3.1-8B", tensor_parallel=8, data_parallel=8, dp_attention=True) == 131_072
    assert held("Llama-3.1-8B", tensor_parallel=8, data_parallel=2, dp_attention=True) == 32_768
    assert held("Llama-3.1-8B", tensor_parallel=8, data_parallel=2) == 16_384


def test_the_fullest_pipeline_stage_sets_the_tokens() -> None:
    """61 layers over 4 stages are 15, 15, 16, 15."""
    assert tokens_of("Kimi-K2.5", pipeline_parallel=4) == 40 * GIB // (16 * 1152)


def test_slots_of_a_stage_hold_its_layers_from_0_5_18_on() -> None:
    """Before, each rank was charged the states of all layers."""
    new, old = (plan_of(MODELS["Qwen3-Next"], available_kv_bytes=40 * GIB, pipeline_parallel=2, engine_version=version)
                for version in ("0.5.18", "0.5.15"))  # fmt: skip
    assert "max_mamba_cache_size: 263," in old.log.lines[0]
    assert "max_mamba_cache_size: 262," not in new.log.lines[0]


def test_a_window_pool_capped_by_requests() -> None:
    """16 requests × (128 + 128 + 1 + 1) + 2 × 8,192 + 1 window tokens; the rest is the full pool."""
    planned = plan_of(MODELS["gpt-oss-120b"], available_kv_bytes=40 * GIB, prefix_caching=False, max_num_seqs=16)
    window = 16 * (128 + 128 + 1 + 1) + 2 * 8192 + 1
    full = (40 * GIB - window * 18 * 2048) // (18 * 2048)
    assert f"full_layer_tokens={full}, swa_layer_tokens={window}" in planned.log.lines[0]
    older = plan_of(
        MODELS["gpt-oss-120b"],
        available_kv_bytes=40 * GIB,
        prefix_caching=False,
        max_num_seqs=16,
        engine_version="0.5.13",
    )
    assert older.printed.kv_tokens == 647_269


@pytest.mark.parametrize(
    ("version", "slots"),
    [
        ("0.5.6", Slots(unit=4 * 77_266_944)),
        ("0.5.10", Slots(unit=77_266_944, before=77_266_944 * 30 * 3)),
        ("0.5.13", Slots(unit=77_266_944 * 6, parts=3)),
        ("0.5.23", Slots(unit=77_266_944 * 8, parts=5, pad=77_266_944 * 4)),
    ],
)
def test_slots_under_speculation(version: str, slots: Slots) -> None:
    settings = {"speculative": {"method": "eagle", "tokens": 2}, "max_num_seqs": 30, "engine_version": version}
    assert cache_of("Qwen3-Next", **settings).stage.slots == slots


def test_a_draft_layer_widens_the_cell() -> None:
    """EAGLE: cell × (1 + 1 / 32)."""
    settings = {"speculative": {"method": "eagle", "tokens": 3}}
    assert charged("Llama-3.1-8B", **settings) == 131_072 * 33 / 32


def test_without_radix_cache_slots_follow_the_requests() -> None:
    fixed = cache_of("Qwen3-Next", prefix_caching=False, max_num_seqs=64).stage
    assert (fixed.slots_each, fixed.slots and fixed.slots.fixed) == (1, 64)
    old = cache_of("Qwen3-Next", prefix_caching=False, engine_version="0.5.8").stage
    assert old.slots
    assert old.slots.fixed == 512
    assert cache_of("Qwen3-Next", prefix_caching=False).stage.slots == Slots(unit=77_266_944, pad=77_266_944)


def test_compressed_pools_of_v4_flash() -> None:
    """A full token: 21 × (584 + 132) / 4 + 20 × 584 / 128 + 0.1 × (43 × 584 + 21 × 8/128 × (8,192 + 2,048))."""
    assert charged("DeepSeek-V4-Flash") == pytest.approx(3759 + 91.25 + 0.1 * (43 * 584 + 21 * 640), rel=1e-12)


def test_a_draft_of_v4_flash_adds_a_layer_and_doubles_the_rings() -> None:
    drafted = charged("DeepSeek-V4-Flash", speculative={"method": "eagle", "tokens": 1})
    plain = 3759 + 91.25 + 0.1 * (43 * 584 + 21 * 1280)
    assert drafted == pytest.approx(plain * 44 / 43, rel=1e-12)


def test_rings_of_v4_flash_are_paid_for_first() -> None:
    """(16 + 1) slots × 128 rows + 129, padded to 128, of 1,024 fp32 numbers in 20 layers."""
    rows = -(-(17 * 128 + 129) // 128) * 128
    assert cache_of("DeepSeek-V4-Flash", max_num_seqs=16).stage.pools.fixed == rows * 1024 * 4 * 20


def test_page_sizes() -> None:
    assert plan_of(MODELS["Llama-3.1-8B"]).scenario.block_size == 1
    assert plan_of(MODELS["DeepSeek-V3.2"]).scenario.block_size == 64
    assert plan_of(MODELS["DeepSeek-V4-Flash"]).scenario.block_size == 256
    replaced = plan_of(MODELS["DeepSeek-V3.2"], block_size=16)
    assert replaced.scenario.block_size == 64
    assert any("page size of 16 by 64" in note for note in replaced.notes)


def test_sparse_latents_are_fp8_by_default_on_blackwell() -> None:
    """Receipts s026 and s027: 788 bytes a token and layer on B200, 656 of them latents."""
    spec = spec_of((61, latent(128, INDEXER)), model_type="deepseek_v32")
    scenario = make_scenario({"model": "test", "engine": "sglang", "accelerator": "b200-sxm"})
    planned = ENGINE.plan(scenario, spec, get_accelerator("b200-sxm"))
    assert planned.scenario.kv_dtype == "fp8_ds_mla"
    assert planned.ranks[0].cache.kv(64, 1) == 64 * 61 * 788


V4_PRO = spec_of(
    (30, CompressedAttention(heads=128, head_dim=512, rope_dim=64, window=128, ratio=4, indexer=INDEXER)),
    (31, CompressedAttention(heads=128, head_dim=512, rope_dim=64, window=128, ratio=128)),
    model_type="deepseek_v4",
)


@pytest.mark.parametrize(
    ("spec", "version", "ratio", "size"),
    [
        (MODELS["DeepSeek-V4-Flash"], NEWEST, 0.1, "7705.45"),
        (V4_PRO, "0.5.15", 0.15, "13735.04"),
        (V4_PRO, "0.5.13", 0.15, "32781.44"),
        (MODELS["DeepSeek-V4-Flash"], "0.5.12", 0.1, "15955.85"),
    ],
)
def test_bytes_a_full_token_that_public_logs_of_v4_print(
    spec: ModelSpec, version: str, ratio: float, size: str
) -> None:
    """The lines "DSV4 memory calculation: bytes_per_full_token=…" (public files, repositories not recorded)."""
    planned = plan_of(spec, engine_version=version, swa_full_tokens_ratio=ratio, available_kv_bytes=40 * GIB)
    cache = planned.ranks[0].cache
    assert isinstance(cache, StageCache)
    assert f"{float(cache.stage.pools.cell):.2f}" == size


def test_pools_that_a_public_log_of_v4_flash_prints() -> None:
    """available_bytes=11.89 GB, c128_state_fixed=0.11 GB: full=1641472, swa=164096, c4=410368, c128=12824."""
    settings = {"max_num_seqs": 8, "engine_version": NEWEST}
    low, high = (
        plan_of(MODELS["DeepSeek-V4-Flash"], available_kv_bytes=round(pool * GIB), **settings).printed.kv_tokens
        for pool in (11.885, 11.895)
    )
    assert low is not None
    assert high is not None
    assert low <= 1_641_472 <= high
    cache = cache_of("DeepSeek-V4-Flash", **settings)
    assert f"{cache.stage.pools.fixed / GIB:.2f}" == "0.11"
    full = cache.stage.pools.need(1_641_472, 0)
    line = plan_of(MODELS["DeepSeek-V4-Flash"], available_kv_bytes=int(full), **settings).log.lines[0]
    assert line == "DSV4 pool sizes: full=1641472, swa=164096, c4=410368, c128=12824, c4_state=10256, c128_state=0"


def test_inkling_gives_states_a_tenth_of_what_tokens_get() -> None:
    """mamba_full_memory_ratio 0.1: one eleventh of the budget."""
    spec = spec_of((20, short_conv(4096)), (20, attention(32, 8, 128)), model_type="inkling")
    line = plan_of(spec, available_kv_bytes=11 * GIB).log.lines[0]
    slot = 20 * 4096 * 2 * 2
    assert f"max_mamba_cache_size: {(GIB - slot) // slot}," in line
