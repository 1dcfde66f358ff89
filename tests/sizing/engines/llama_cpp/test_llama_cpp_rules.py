"""Cells, rows, states and change points against worked examples."""

from datetime import date
from typing import Any

import pytest

from model_catalog.lookup import find_entry
from sizing.engines.llama_cpp.builds import build_of, date_of_build
from sizing.engines.llama_cpp.cells import FULL, Law, Server
from sizing.engines.llama_cpp.layers import row
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.llama_cpp.resolving import resolved_of
from sizing.engines.llama_cpp.rules import rules_of
from sizing.engines.llama_cpp.split import Offload
from sizing.scenario import make_scenario
from tests.sizing.engines.llama_cpp.receipts import MIB, predicted, spec_of

GEMMA = spec_of((10, 32, 16, 128, None), (52, 32, 16, 128, 1024))
GIB = 2**30


def asked(model: str, **fields: Any) -> dict[str, float]:
    """The whole cache and each part of it in MiB."""
    found = predicted(model, **fields)
    return {name: each["size"] for name, each in found.items()}


def server(version: str | None = None, **fields: Any) -> Server:
    return resolved_of(make_scenario({"model": "x", "engine_version": version} | fields), GEMMA).server


def test_g1_window_cells_of_four_unified_slots() -> None:
    assert server(kv_unified=True, max_num_seqs=4).cells(Law("window", 1024), 131_072, 1) == 4608


def test_g2_state_of_qwen3_next() -> None:
    spec = find_entry("Qwen/Qwen3-Next-80B-A3B-Instruct").spec
    planned = plan(make_scenario({"model": "x", "engine": "llama.cpp"}), spec, None)
    assert planned.ranks[0].cache.state(1000, 1) == 79_036_416


def test_g3_row_of_1024_in_q8_0() -> None:
    assert row("q8_0", 1024) == 1088


@pytest.mark.parametrize(
    ("slots", "unified", "base", "windows"),
    [(1, False, 10 * GIB, 624 * MIB), (4, True, 10 * GIB, 1872 * MIB), (4, False, 40 * GIB, 2496 * MIB)],
)
def test_gemma_3_27b_at_131072(slots: int, unified: bool, base: int, windows: int) -> None:
    held = server(kv_unified=unified, max_num_seqs=slots)
    each = 2 * 16 * 128 * 2
    assert each * 10 * held.all_cells(FULL, 131_072, 1) == base
    assert each * 52 * held.all_cells(Law("window", 1024), 131_072, 1) == windows


def test_gpt_oss_120b_with_one_sequence() -> None:
    found = asked("openai/gpt-oss-120b", context_length=131_072)
    assert (found["main"], found["window"]) == (4.5 * 1024, 27)


@pytest.mark.parametrize(
    ("version", "flash", "tokens", "cells"),
    [
        ("2024-05-10", False, 1000, 1024),
        ("4615", False, 72_000, 72_000),
        ("4615", True, 72_000, 72_192),
        ("2025-11-01", True, 31_000, 31_000),
        (None, False, 65_535, 65_536),
    ],
)
def test_padding_by_date(version: str | None, flash: bool, tokens: int, cells: int) -> None:
    assert server(version, flash_attention=flash).cells(FULL, tokens, 1) == cells


@pytest.mark.parametrize(
    ("version", "cells"),
    [
        ("2025-05-10", 31_232),
        ("2025-05-25", 4096 + 2048),
        ("2025-06-10", 4096 + 512),
        ("2025-09-01", 4096 + 512),
        (None, 4096 + 512),
    ],
)
def test_windows_by_date(version: str | None, cells: int) -> None:
    resolved = resolved_of(
        make_scenario({"model": "x", "engine_version": version, "flash_attention": True}),
        spec_of((8, 32, 8, 128, None), (24, 32, 8, 128, 4096)),
    )
    law = resolved.layout.whole.rows[-1].law
    assert resolved.server.cells(law, 31_000, 1) == cells


def test_streams_by_date() -> None:
    """-np 4 -c 4096 before #14363: 4,096 cells for all; since then 1,024 for each; -kvu: for all again."""
    assert server("2025-07-01").all_cells(FULL, 1024, 4) == 4096
    assert server("2025-07-01").streams(4) == 1
    assert server("2025-08-01").streams(4) == 4
    assert server(None, kv_unified=True).streams(4) == 1


def test_one_slot_was_four_for_some_weeks() -> None:
    """b7079 with an explicit -np 1 (ggml-org/llama.cpp issue 17300)."""
    assert server("b7079").slots_for(1) == 4
    assert server("b7079").slots_for(2) == 2
    assert server("b7600").slots_for(1) == 1


def test_hybrids_gave_every_stream_all_cells_until_february_2026() -> None:
    load = {"context_length": 8192, "batch_size": 4}
    assert asked("Qwen/Qwen3.5-9B", engine_version="2026-02-01", **load)["main"] == 4096
    assert asked("Qwen/Qwen3.5-9B", engine_version="2026-03-01", **load)["main"] == 1024


@pytest.mark.parametrize(
    ("version", "bytes_per_token"), [("2025-04-01", 4_997_120), ("2025-05-07", 132_736), ("2026-02-01", 70_272)]
)
def test_latent_attention_by_date(version: str, bytes_per_token: int) -> None:
    found = asked("deepseek-ai/DeepSeek-V3", engine_version=version, context_length=16_384)
    assert found["main"] * MIB == bytes_per_token * 16_384


def test_values_are_padded_to_the_widest_layer_without_flash_attention() -> None:
    """Gemma 4 E4B: value rows of 512 elements in window layers are padded to the full layers' 1,024 (l038)."""
    with_it = asked("google/gemma-4-E4B-it", context_length=4096, swa_full=True, flash_attention=True)
    without = asked("google/gemma-4-E4B-it", context_length=4096, swa_full=True, flash_attention=False)
    assert (with_it["window"], without["window"]) == (160, 240)


def test_indexer_keys_are_kept_in_the_cache_type_without_scales() -> None:
    """DeepSeek-V3.2: 576 + 128 elements of f16 in each of 61 layers."""
    found = asked("deepseek-ai/DeepSeek-V3.2", context_length=1024)
    assert (found["main"] * MIB, found["indexer"] * MIB) == (70_272 * 1024, 61 * 256 * 1024)


def test_the_indexer_of_minimax_m3_has_a_value_too() -> None:
    found = predicted("MiniMaxAI/MiniMax-M3", context_length=1024)
    assert (found["indexer"]["key"] * MIB, found["indexer"]["value"] * MIB) == (57 * 256 * 1024, 57 * 256 * 1024)


def test_compressor_states_of_deepseek_v4() -> None:
    """21 layers of ratio 4 with an indexer, 20 of ratio 128: 65,536 + 16,384 and 524,288 B a stream."""
    spec = find_entry("deepseek-ai/DeepSeek-V4-Flash").spec
    cache = plan(make_scenario({"model": "x", "engine": "llama.cpp"}), spec, None).ranks[0].cache
    assert cache.state(1000, 1) == 21 * (65_536 + 16_384) + 20 * 524_288
    cells = 768, 256 * 98, 1024  # 100,000 tokens: window + ubatch, a quarter, a 128th, each padded
    rows = 43 * cells[0] + 21 * cells[1] + 20 * cells[2]
    assert cache.kv(100_000, 1) == rows * 1024 + 21 * cells[1] * 256


@pytest.mark.parametrize(
    ("version", "model", "copies"),
    [
        (None, "Qwen/Qwen3.6-27B", 4),
        ("b9010", "Qwen/Qwen3.6-27B", 1),
        (None, "Qwen/Qwen3-Next-80B-A3B-Instruct", 1),
    ],
)
def test_drafts_roll_the_state_back_where_the_build_and_the_model_can(
    version: str | None, model: str, copies: int
) -> None:
    fields = {"engine_version": version, "speculative": {"method": "draft-mtp", "tokens": 3}}
    assert resolved_of(make_scenario({"model": "x"} | fields), find_entry(model).spec).copies == copies


def test_layers_and_the_output_over_four_devices() -> None:
    """gpt-oss-20b's model buffers of 2,923.59, 2,505.94, 2,505.94 and 2,088.28 MiB are 7, 6, 6 and 5 layers (l034)."""
    parts = Offload(24, 25).shares(4)
    assert [part.last - part.first for part in parts] == [7, 6, 6, 5]
    assert [part.output for part in parts] == [False, False, False, True]


@pytest.mark.parametrize(
    ("gpu_layers", "layers", "output"), [(0, 0, False), (1, 0, True), (10, 9, True), (33, 32, True)]
)
def test_the_last_layers_and_the_output_are_offloaded_first(gpu_layers: int, layers: int, output: bool) -> None:
    """i_gpu_start = n_layer + 1 - n_gpu_layers: the output counts as a layer, and is the first to be offloaded."""
    offload = Offload(32, gpu_layers)
    (device,), host = offload.shares(1), offload.host
    assert (max(0, device.last - device.first), device.output) == (layers, output)
    assert (host.last, host.output) == (32 - layers, not output)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("b9010-d05fe1d7d", date(2026, 5, 3)),
        ("build 5622 (97340b4c)", date(2025, 6, 10)),
        ("4615 (bfcce4d6)", date(2025, 2, 2)),
        ("2025-06-28", date(2025, 6, 28)),
        ("2024-05", date(2024, 5, 15)),
        ("ik 2025-06-19", date(2025, 6, 19)),
        (None, date(2026, 9, 26)),
    ],
)
def test_version_texts(text: str | None, day: date) -> None:
    assert build_of(text).date == day
    assert build_of(text).note is None


def test_builds_between_known_ones_are_a_few_days_off_at_most() -> None:
    """b6900 is of 2025-10-31, b7079 of 2025-11-16 and b7710 of January 2026."""
    assert abs((date_of_build(7079) - date(2025, 11, 16)).days) <= 3
    assert date_of_build(7710).month == 1


@pytest.mark.parametrize("text", ["b99999", "2027-03-01", "b1500", "2023-06-01", "nightly", "2025-13-45"])
def test_versions_outside_the_range_go_by_the_nearest_rules_with_a_note(text: str) -> None:
    assert build_of(text).note is not None
    old = text in ("b1500", "2023-06-01")
    assert rules_of(build_of(text)).streams is not old
