"""The map against single answers: every cell is what `python -m sizing` says, and the border is exact."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sizing import cuts
from sizing.answer import answer, find_accelerator, find_models, find_spec
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan
from sizing.map import Band, bands_of, cells, counts, frontier, most_sequences_at, room_at
from sizing.placement import PlacementError
from sizing.scenario import LARGEST_BATCH, ScenarioError, make_scenario
from sizing.size import plan

ROOT = Path(__file__).parents[2]
MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3.5-27B",
    "deepseek-ai/DeepSeek-V2-Lite",
    "openai/gpt-oss-20b",
)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"kv_dtype": "fp8"},
    {"kv_dtype": "q8_0"},
    {"tensor_parallel": 2},
    {"pipeline_parallel": 2},
    {"data_parallel": 3},
    {"shared_prefix_tokens": 700},
    {"max_model_len": 20_000},
    {"engine_version": "0.6.3"},
    {"prefix_caching": False},
    {"max_num_seqs": 8},
    {"available_kv_bytes": 2**33},
    {"average_context_length": 1000},
    {"media": {"images": 2, "width": 900, "height": 700}},
    {"media_limits": {"image": 0, "video": 0, "audio": 0}},
    {"pooling": True},
    {"cpu_offload_bytes": 2**32},
    {"gpu_layers": 9},
    {"cpu_moe_layers": 9},
    {"tensor_parallel": 2, "tensor_split": (3, 1)},
    {"tensor_parallel": 2, "split_mode": "row", "engine_version": "2025-11-10"},
    {"tensor_parallel": 2, "memory_by_gpu": (80 * 2**30, 24 * 2**30)},
    {"kv_offload": False},
    {"lora": {"max_loras": 4, "rank": 16}},
    {"max_mamba_cache_size": 40},
    {"speculative": {"method": "mtp", "tokens": 2}},
    {"speculative": {"method": "eagle3", "tokens": 2, "model": "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"}},
)
TOP = 4096


def lengths_of(model: str) -> list[int]:
    limit = find_spec(model).max_context or 8192
    return sorted({*np.geomspace(64, 2 * limit, 60).astype(int).tolist()})


def values_of(engine: str, model: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"model": model, "engine": engine, "accelerator": "h100-sxm5-80gb", "batch_size": 16, **more}


@cache
def _surveyed(engine: str, model: str, setting: int) -> tuple[Band, ...] | None:
    """Kept, for many cells are asked of each. None where the engine has no such setting or does not know the model."""
    scenario = make_scenario(values_of(engine, model, SETTINGS[setting]))
    try:
        return bands_of(scenario, find_models(scenario), find_accelerator(scenario.accelerator), lengths_of(model))
    except (ScenarioError, PlacementError):
        return None


def surveyed(engine: str, model: str, setting: int) -> tuple[Band, ...]:
    bands = _surveyed(engine, model, setting)
    assume(bands is not None)
    assert bands is not None
    return bands


def says(engine: str, model: str, setting: int, tokens: int, batch: int) -> bool:
    """What the core answers for the cell; an error is no fit."""
    asked = values_of(engine, model, SETTINGS[setting]) | {"context_length": tokens, "batch_size": batch}
    found = answer(asked)
    return "error" not in found and found["verdict"]["fits"] is True


maps = st.tuples(st.sampled_from(MODELS), st.integers(0, len(SETTINGS) - 1))


@pytest.mark.parametrize("engine", list(ENGINES))
@given(maps, st.data())
@settings(max_examples=60, deadline=None)
def test_every_cell_is_what_the_core_answers(engine: str, which: tuple[str, int], data: st.DataObject) -> None:
    bands = surveyed(engine, *which)
    tokens = data.draw(st.sampled_from(lengths_of(which[0])))
    batch = int(2 ** data.draw(st.floats(0, 12)))
    (fit,) = cells(bands, [tokens], [batch]).flat
    assert fit == says(engine, *which, tokens, batch)


@pytest.mark.parametrize("engine", list(ENGINES))
@given(maps, st.data())
@settings(max_examples=60, deadline=None)
def test_a_corner_fits_and_its_neighbours_do_not(engine: str, which: tuple[str, int], data: st.DataObject) -> None:
    bands = surveyed(engine, *which)
    corners = frontier(bands, TOP)
    assume(corners.batch)
    index = data.draw(st.integers(0, len(corners.batch) - 1))
    tokens, batch = corners.tokens[index], corners.batch[index]
    assert says(engine, *which, tokens, batch)
    assert not says(engine, *which, tokens, batch + 1)
    if all(tokens != band.last for band in bands):
        assert not says(engine, *which, tokens + 1, batch)


@pytest.mark.parametrize("engine", list(ENGINES))
@given(maps, st.data())
@settings(max_examples=40, deadline=None)
def test_the_border_of_each_length_is_exact(engine: str, which: tuple[str, int], data: st.DataObject) -> None:
    bands = surveyed(engine, *which)
    tokens = data.draw(st.sampled_from(lengths_of(which[0])))
    (most,) = most_sequences_at(bands, [tokens]).tolist()
    assert most == 0 or says(engine, *which, tokens, most)
    assert most == LARGEST_BATCH or not says(engine, *which, tokens, most + 1)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("model", MODELS)
def test_corners_run_down_and_hold_every_small_batch(engine: str, model: str) -> None:
    bands = _surveyed(engine, model, 0)
    if bands is None:
        pytest.skip("the engine does not know the model")
    corners = frontier(bands, TOP)
    assert list(corners.batch) == sorted(set(corners.batch))
    assert list(corners.tokens) == sorted(set(corners.tokens), reverse=True)
    scalar = bands[0].planned
    for tokens, batch in zip(corners.tokens[:20], corners.batch[:20], strict=True):
        assert scalar.fits(tokens, batch)


def test_llama_in_40_gib_by_hand() -> None:
    """128 KiB a token (32 layers × 2 × 8 heads × 128 × 2 bytes), so 40 GiB hold 327,680 tokens."""
    scenario = make_scenario({"model": MODELS[0], "engine": "minimum", "available_kv_bytes": 40 * 2**30})
    bands = bands_of(scenario, find_spec(MODELS[0]), None, [512, 131_072])
    assert most_sequences_at(bands, [512, 8192, 8193, 131_072]).tolist() == [640, 40, 39, 2]
    corners = frontier(bands, TOP)
    assert list(zip(corners.batch, corners.tokens, strict=True))[:4] == [
        (2, 131_072),
        (3, 109_226),
        (4, 81_920),
        (5, 65_536),
    ]
    assert cells(bands, [8192, 16_384], [20, 21, 40, 41]).tolist() == [
        [True, True, True, False],
        [True, False, False, False],
    ]


def test_cells_are_the_command_lines() -> None:
    """A few cells through the command line itself."""
    model, engine = "google/gemma-3-27b-it", "vllm"
    bands = _surveyed(engine, model, 0)
    assert bands is not None
    loads = [(512, 31), (512, 32), (8192, 2), (16_400, 1), (200_000, 1)]
    lines = [
        json.dumps(values_of(engine, model, {}) | {"context_length": tokens, "batch_size": batch})
        for tokens, batch in loads
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sizing", "--jsonl"],
        input="\n".join(lines),
        text=True,
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    said = [json.loads(line)["verdict"]["fits"] for line in done.stdout.splitlines()]
    assert said == [bool(cells(bands, [tokens], [batch]).item()) for tokens, batch in loads]
    assert {True, False} == set(said)


def planned_of(engine: str, model: str, more: dict[str, Any]) -> EnginePlan:
    scenario = make_scenario(values_of(engine, model, more))
    return plan(scenario, find_models(scenario), find_accelerator(scenario.accelerator))


@pytest.mark.parametrize("engine", list(ENGINES))
@given(maps, st.integers(64, 300_000), st.integers(1, 4096))
@settings(max_examples=40, deadline=None)
def test_terms_at_a_point_are_the_reports(engine: str, which: tuple[str, int], tokens: int, batch: int) -> None:
    model, setting = which
    asked = values_of(engine, model, SETTINGS[setting]) | {"context_length": tokens, "batch_size": batch}
    report = answer(asked)
    assume("error" not in report)
    scenario = make_scenario(asked)
    planned = plan(scenario, find_models(scenario), find_accelerator("h100-sxm5-80gb"))
    at = cuts.cells_at(planned, *counts(planned, [tokens], [batch]))
    gpu, verdict = report["per_gpu"], report["verdict"]
    assert (at.kv.item(), at.state.item()) == (gpu["kv_bytes"], gpu["state_bytes"])
    assert at.free is not None and at.verdicts is not None
    assert at.verdicts.item() == verdict["state"]
    assert max(0, -at.free.item()) == verdict["short_by_bytes"]
    assert (at.free.item() >= 0) == verdict["fits"]


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("model", MODELS)
def test_a_cut_passes_through_the_report_and_crosses_the_budget_at_the_border(engine: str, model: str) -> None:
    try:
        planned = planned_of(engine, model, {"context_length": 8192})
    except ScenarioError:
        pytest.skip("the engine does not know the model")
    rank = planned.ranks[0]
    tokens = np.array([512, 8192, 65_536], dtype=np.int64)
    cut = cuts.cut_of(planned, rank, tokens, np.array([16], dtype=np.int64))
    report = answer(values_of(engine, model, {"context_length": 8192}))["per_gpu"]
    assert cut.kv[1] == report["kv_bytes"] and cut.state[1] == report["state_bytes"]
    assert cut.activation[1] == report["activation_bytes"] and cut.graphs[1] == report["graph_bytes"]
    assert cut.weights[1] == report["weights_bytes"] + report["draft_bytes"] + report["encoder_bytes"]
    assert min(cut.split) >= 0
    least = room_at(planned, tokens, np.array([16], dtype=np.int64))
    assert least is not None and planned.budget is not None
    outside = planned.budget - cut.total - least[0]
    assert len(set(outside.tolist())) == 1  # what never becomes cache: less than a block, and the null block


def test_where_kv_overtakes_the_weights_of_gemma() -> None:
    """52 windows and 10 full layers at 16 requests: the first length at which KV is no less than the weights."""
    planned = planned_of("minimum", "google/gemma-3-27b-it", {"context_length": 8192})
    rank = planned.ranks[0]
    length = cuts.overtaking_length(planned, rank)
    assert length is not None
    each = 2 * 16 * 128 * 2  # a layer's key and value of a token, in bytes
    kept = 16 * each * (10 * length + 52 * 1024)
    assert kept >= rank.weights > kept - 16 * each * 10
    batch = cuts.overtaking_batch(planned, rank)
    assert batch is not None
    assert (batch - 1) * each * (10 * 8192 + 52 * 1024) < rank.weights <= batch * each * (10 * 8192 + 52 * 1024)


def test_products_beyond_64_bits_stay_exact() -> None:
    planned = planned_of("minimum", MODELS[0], {"context_length": 8192})
    tokens, batch = counts(planned, [2**31 - 1], [2**20])
    least = room_at(planned, tokens, batch)
    assert least is not None
    assert least[0].item() == (planned.ranks[0].usable or 0) - (2**31 - 1) * 2**20 * 131_072
