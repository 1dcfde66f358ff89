"""What start-up logs of earlier releases print: the tokens or blocks that a printed cache size makes.

Printed sizes are rounded to 0.01 GiB, so the printed tokens lie between those of the two ends.
"""

from dataclasses import replace
from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from model_catalog.spec import ModelSpec
from sizing.engines.plan import Printed
from sizing.engines.vllm.rules import release_of, rules_of
from sizing.scenario import ScenarioError
from sizing.versions import parse_version
from tests.sizing.engines.dimensions import gated_delta
from tests.sizing.engines.vllm import models as m

GB10 = get_accelerator("dgx-spark-gb10")


def printed(spec: ModelSpec, version: str, gib: float, accelerator: Any = None, **settings: Any) -> Printed:
    return m.plan(spec, accelerator, engine_version=version, available_kv_bytes=int(gib * m.GIB), **settings).printed


def within(spec: ModelSpec, version: str, gib: float, accelerator: Any = None, **settings: Any) -> tuple[int, int]:
    ends = [printed(spec, version, gib + half, accelerator, **settings).kv_tokens for half in (-0.005, 0.005)]
    return ends[0] or 0, ends[1] or 0


# (receipt, model, release, printed GiB, settings, printed tokens, printed concurrency)
QWEN2_7B = m.spec_of((28, m.heads(4, 128, query_heads=28)))
LLAMA3_8B = m.LLAMA_8B
LOGS: list[tuple[str, ModelSpec, str, float, dict[str, Any], int, float]] = [
    ("v014", QWEN2_7B, "0.10.1.1", 5.01, {"max_model_len": 16_384}, 93_872, 5.73),
    ("v130", LLAMA3_8B, "0.17.1", 55.79, {"max_model_len": 32_768}, 457_024, 13.95),
    ("v161", LLAMA3_8B, "0.11.2", 105.97, {"max_model_len": 1024}, 868_080, 847.73),
    (
        "v099",
        m.GEMMA3_27B,
        "0.11.0rc2.dev98+g393de22d2",
        109.86,
        {"max_model_len": 4096, "max_num_batched_tokens": 8192},
        205_696,
        50.05,
    ),
    (
        "v011",
        m.GEMMA4_26B,
        "0.20.0",
        40.61,
        {"max_model_len": 8192, "max_num_batched_tokens": 4096},
        177_440,
        35.75,
    ),
]


@pytest.mark.parametrize(("receipt", "spec", "version", "gib", "settings", "tokens", "concurrency"), LOGS)
def test_printed_tokens(
    receipt: str, spec: ModelSpec, version: str, gib: float, settings: dict[str, Any], tokens: int, concurrency: float
) -> None:
    low, high = within(spec, version, gib, **settings)
    assert low <= tokens <= high
    found = printed(spec, version, gib, **settings).max_concurrency
    assert found == pytest.approx(concurrency, rel=0.001)


def test_windows_reserve_one_more_batch_from_0_26() -> None:
    """v200: 0.25.1 reserves Gemma 4's 2,496 tokens once, 221 blocks a window; v185 (0.26.1rc0) reserves two."""
    settings = {"max_model_len": 262_144, "max_num_batched_tokens": None}
    low, high = within(m.GEMMA4_26B_VL, "0.25.1", 83.89, GB10, **settings)
    assert low <= 3_875_400 <= high
    assert m.groups(m.V4_FLASH, engine_version="0.26.1rc0", max_model_len=131_072)[0][2] == 259
    assert m.groups(m.V4_FLASH, engine_version="0.25.1", max_model_len=131_072)[0][2] == 131


def test_hybrids_before_and_after_states_were_cached() -> None:
    """v003: Qwen3.6-35B on 0.19.2 takes one block a group; v206's rows on 0.25.1 one and three for the draft."""
    settings = {"max_model_len": 131_072}
    version = "0.19.2rc1.dev134+gfe9c3d6c5"
    assert within(m.QWEN35_35B, version, 47.55, GB10, **settings)[0] <= 623_040
    found = printed(m.QWEN35_35B, version, 47.55, GB10, **settings)
    assert (found.kv_tokens, round(found.max_concurrency or 0, 2)) == (623_040, 18.44)
    assert m.groups(m.QWEN35_35B, GB10, engine_version="0.30.0", **settings)[0] == (10, 1056, 2)


def test_drafting_adds_layers_and_state_blocks() -> None:
    """v204: Qwen3.6-35B with its prediction layer, 0.25.1: 11 layers a group, 3 padding layers, 12.84 × 262,144."""
    spec = m.pattern(
        10, (3, gated_delta(16, 32, 128, "fp32")), (1, m.heads(2, 256, query_heads=16)), model_type="qwen3_5_moe"
    )
    spec = replace(spec, towers=m.WITH_PREDICTION)
    settings = {
        "max_model_len": 262_144,
        "speculative": {"method": "mtp", "tokens": 3},
        "engine_version": "0.25.1",
    }
    found = m.groups(spec, GB10, **settings)
    assert [(layers, blocks) for layers, _, blocks in found] == [(10, 4), (10, 4), (10, 4), (11, 245)]
    assert found[-1][1] == 1072
    planned = m.plan(spec, GB10, available_kv_bytes=int(74.22 * m.GIB), **settings)
    assert round(planned.printed.max_concurrency or 0, 2) == 12.84


def test_decode_context_parallel_multiplies_the_old_line() -> None:
    """Kimi-K2-Thinking: 46.80 GiB hold 715,072 tokens, with dcp 8 5,721,088 (receipts v043, v044)."""
    kimi = m.spec_of((61, m.MLA))
    low, high = within(kimi, "0.11.0", 46.80, max_model_len=131_072, tensor_parallel=8)
    assert low <= 715_072 <= high
    low, high = within(kimi, "0.11.0", 46.80, max_model_len=131_072, tensor_parallel=8, decode_context_parallel=8)
    assert low <= 5_721_088 <= high


def test_old_engine_prints_blocks() -> None:
    """v154: Qwen2.5-14B on 0.7.3, 2.33 GiB, 796 blocks, 1.55 × 8,192; gemma-2b's CPU blocks: 4 GiB / 294,912."""
    spec = m.spec_of((48, m.heads(8, 128, query_heads=40)))
    low = printed(spec, "0.7.3", 2.325, max_model_len=8192)
    high = printed(spec, "0.7.3", 2.335, max_model_len=8192)
    assert (low.num_blocks or 0) <= 796 <= (high.num_blocks or 0)
    assert round(796 * 16 / 8192, 2) == 1.55
    lines = m.plan(
        m.spec_of((18, m.heads(1, 256, query_heads=8))), engine_version="0.4.2", max_model_len=8192
    ).log.lines
    assert lines[0] == f"# GPU blocks: {40 * m.GIB // 294_912}, # CPU blocks: 14563"


def test_log_lines() -> None:
    assert m.plan(m.GPT_OSS_120B, max_model_len=131_072).log.lines == (
        "Available KV cache memory: 40.0 GiB",
        "GPU KV cache size: 1,034,609 tokens, Maximum concurrency for 131,072 tokens per request: 7.89x",
    )
    assert m.plan(m.GPT_OSS_120B, engine_version="0.27.1", max_model_len=131_072).log.lines[1:] == (
        "GPU KV cache size: 1,034,609 tokens",
        "Maximum concurrency for 131,072 tokens per request: 7.89x",
    )
    older = m.plan(m.LLAMA_8B, engine_version="0.11.0", max_model_len=131_072).log.lines
    assert older[0] == "Available KV cache memory: 40.00 GiB"


def test_chunks_were_kept_whole_once() -> None:
    assert m.groups(m.SCOUT, engine_version="0.12.0", max_model_len=131_072) == [(48, 16, 8192)]


def test_releases_outside_the_range_are_noted() -> None:
    assert any("not modelled" in note for note in m.plan(m.LLAMA_8B, engine_version="0.40.1").notes)
    assert any("without a release" in note for note in m.plan(m.LLAMA_8B, engine_version="0.1.dev18+g1").notes)
    assert release_of("nightly")[2]
    assert release_of("0.33.0.post1")[2] == ()


def test_release_candidates_come_before_the_release() -> None:
    def old_line(text: str) -> bool:
        version = parse_version(text)
        assert version is not None
        return rules_of(version).old_token_line

    assert old_line("0.20.0") and old_line("0.20.1rc1.dev16+g7a1eb8ac2")
    assert not old_line("0.20.1") and not old_line("0.20.2rc1.dev249")


def test_dropped_models_run_on_the_releases_that_had_them() -> None:
    baichuan = m.spec_of((32, m.heads(32, 128, query_heads=32)), model_type="baichuan")
    assert m.plan(baichuan, engine_version="0.23.0").printed.kv_tokens
    with pytest.raises(ScenarioError, match=r"until 0\.23\.0") as error:
        m.plan(baichuan)
    assert error.value.field == "engine_version"


def test_catalog_model_on_an_old_release() -> None:
    """v142: Qwen3-Embedding-8B on 0.22.0, 18.41 GiB, 134,080 tokens, 16.37 × 8,192."""
    low, high = within(find_entry("Qwen/Qwen3-Embedding-8B").spec, "0.22.0", 18.41, max_model_len=8192)
    assert low <= 134_080 <= high


def test_sparse_latents_by_release_and_card() -> None:
    """models/config.py of 0.11.0 packs `auto` too; FlashInfer's kernels keep plain fp8 on SM100 and pack on SM120."""
    cards = {name: get_accelerator(name) for name in ("b200-sxm", "rtx-pro-6000-workstation")}
    rows = {
        (None, "0.11.0", "auto"): 656 + 132,
        (None, "0.11.2", "auto"): 1152 + 132,
        (None, "0.7.3", "auto"): 1152 + 132,
        ("b200-sxm", "0.16.0", "fp8"): 656 + 132,
        ("b200-sxm", "0.17.0", "fp8"): 576 + 132,
        ("rtx-pro-6000-workstation", "0.23.0", "auto"): 1152 + 132,
        ("rtx-pro-6000-workstation", "0.24.0", "auto"): 656 + 132,
    }
    for (card, release, kv_dtype), row in rows.items():
        accelerator = cards[card] if card else None
        found = m.plan(
            m.DEEPSEEK_V32, accelerator, engine_version=release, kv_dtype=kv_dtype, max_model_len=131_072
        ).needed_kv_bytes
        assert found == 61 * row * 131_072, (card, release)


def test_blocks_forced_on_latent_attention() -> None:
    """platforms/cuda.py before 0.18.0; v043 (an H200, 46.80 GiB) printed 715,072 tokens, 11,173 blocks of 64."""
    tokens = {
        ("h200-sxm-141gb", "0.8.0"): 64 * 11_173,
        ("h200-sxm-141gb", "0.17.0"): 64 * 11_173,
        ("h200-sxm-141gb", "0.18.0"): 16 * 44_693,
        ("b200-sxm", "0.9.2"): 16 * 44_693,
        ("b200-sxm", "0.10.1"): 128 * 5586,
        ("b200-sxm", "0.16.0"): 64 * 11_173,
        ("b200-sxm", "0.18.0"): 32 * 22_346,
        ("rtx-pro-6000-workstation", "0.17.0"): 16 * 44_693,
    }
    for (card, release), found in tokens.items():
        accelerator = get_accelerator(card)
        assert printed(m.DEEPSEEK_V3, release, 46.80, accelerator, max_model_len=131_072).kv_tokens == found, card
    hopper = get_accelerator("h200-sxm-141gb")
    assert printed(m.DEEPSEEK_V3, "0.17.0", 46.80, hopper, max_model_len=8192, block_size=16).kv_tokens == 64 * 11_173


def test_what_changed_when() -> None:
    """The last release without and the first with: vllm's config, envs.py, arg_utils.py and kv_cache_interface.py."""
    for name, before, after in (
        ("chunks_bounded", "0.13.0", "0.14.0"),
        ("caches_states", "0.27.1", "0.28.0"),
        ("pools_states", "0.10.1.1", "0.10.2"),
        ("profiles_graphs", "0.19.1", "0.20.0"),
        ("joins_lines", "0.27.1", "0.28.0"),
        ("largest_batches", "0.27.1", "0.28.0"),
        ("spares_a100", "0.8.5.post1", "0.9.0"),
    ):
        found = [getattr(rules_of(release_of(text)[1]), name) for text in (before, after)]
        assert found == [False, True], name
    assert [rules_of(release_of(text)[1]).fraction for text in ("0.19.1", "0.20.0")] == [0.90, 0.92]
    assert [rules_of(release_of(text)[1]).near_equal for text in ("0.11.2", "0.12.0", "0.17.1", "0.18.0")] == [
        20,
        25,
        25,
        30,
    ]


def test_batches_by_card_and_release() -> None:
    """engine/arg_utils.py: by name in 0.8.3, by memory in 0.8.5, but for an A100 since 0.9.0; 160 GiB since 0.28.0."""
    for card, release, tokens in (
        ("a100-sxm4-80gb", "0.8.3", 2048),
        ("a100-sxm4-80gb", "0.8.5.post1", 8192),
        ("a100-sxm4-80gb", "0.9.0", 2048),
        ("h200-sxm-141gb", "0.8.3", 8192),
        ("b200-sxm", "0.27.1", 8192),
        ("b200-sxm", "0.28.0", 16_384),
    ):
        found = m.plan(
            m.LLAMA_8B, get_accelerator(card), engine_version=release, max_num_batched_tokens=None, max_model_len=8192
        ).scenario
        assert found.max_num_batched_tokens == tokens, (card, release)


H100 = get_accelerator("h100-sxm5-80gb")


def test_a_default_batch_is_no_larger_than_all_sequences_at_full_length() -> None:
    """engine/arg_utils.py of 0.11.0 and 0.12.0; log v312 (0.20.0) loads tables for batches of 2,048 = 1 × 2,048."""
    for release, settings, batch in (
        ("0.11.0", {"max_num_seqs": 1, "max_model_len": 2048}, (1, 8192)),
        ("0.12.0", {"max_num_seqs": 1, "max_model_len": 2048}, (1, 2048)),
        ("0.12.0", {"max_num_seqs": 3, "max_model_len": 2048}, (3, 6144)),
        ("0.12.0", {"max_num_batched_tokens": 128, "max_model_len": 2048}, (128, 128)),
    ):
        values = {"max_num_batched_tokens": None} | settings
        found = m.plan(m.LLAMA_8B, H100, engine_version=release, **values).scenario
        assert (found.max_num_seqs, found.max_num_batched_tokens) == batch, (release, settings)


def test_states_to_go_on_from_by_kind_and_release() -> None:
    """v326: Qwen3.6-27B with an fp8 cache on a GH200, 0.30.0: blocks of 1,568 tokens, 26.84 GiB are 817,015 tokens."""
    (gated,) = (find_entry("Qwen/Qwen3.6-27B").spec,)
    settings: dict[str, Any] = {"max_model_len": 131_072, "kv_dtype": "fp8", "prefix_caching": True}
    low, high = within(gated, "0.30.0", 26.84, **settings)
    assert low <= 817_015 <= high
    blocks = [m.groups(gated, engine_version=release, **settings)[0][1] for release in ("0.32.0", "0.33.0")]
    assert blocks == [1568, 1600]
    nemotron = find_entry("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").spec
    taken = {
        release: {row[2] for row in m.groups(nemotron, engine_version=release, **settings)}
        for release in ("0.31.0", "0.32.0")
    }
    assert 2 in taken["0.31.0"]
    assert 3 in taken["0.32.0"]
