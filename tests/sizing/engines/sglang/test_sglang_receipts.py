"""Engine sglang against figures of public start-up logs (receipts.json: settings, what was printed, link)."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines import calibration
from sizing.engines.calibration import GIB, Fitted
from sizing.engines.sglang import ENGINE
from sizing.engines.sglang.choices import card_of, choose
from sizing.engines.sglang.defaults import running_default
from sizing.engines.sglang.lines import Sizes, lines_of
from sizing.engines.sglang.rules import release_of, rules_of
from sizing.engines.sglang.stages import stages_of
from sizing.engines.sglang.traits import traits_of
from sizing.scenario import make_scenario
from tests.sizing.engines.sglang.models import MODELS, plan_of

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "receipts.json").read_text())
BY_ID = {row["id"]: row for row in ROWS}
HALF_DIGIT = 0.005 * GIB


def with_key(key: str) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in ROWS if row.get(key)]


def lines_for(row: dict[str, Any]) -> list[str]:
    """The log lines for pools of the printed number of tokens and slots."""
    spec = MODELS[row["model"]]
    scenario = make_scenario({"model": row["model"], "engine": "sglang", **row["settings"]})
    rules = rules_of(release_of(scenario.engine_version)[1])
    settings = choose(scenario, spec, traits_of(spec), rules, card_of(scenario, None)).settings
    sums, stage = stages_of(spec, settings)[0]
    held = row["held"]
    context = spec.max_context or 1
    running = running_default(held["full"], context)
    sizes = Sizes(full=held["full"], window=held.get("window", 0), slots=held.get("slots", 0), running=running)
    return list(lines_of(sums, stage, sizes, settings, context))


@pytest.mark.parametrize("row", with_key("printed"))
def test_sizes_of_the_printed_tokens_and_slots(row: dict[str, Any]) -> None:
    text = "\n".join(lines_for(row))
    for shown in row["printed"]:
        assert shown in text


@pytest.mark.parametrize("row", with_key("pool"))
def test_tokens_of_the_printed_pool(row: dict[str, Any]) -> None:
    """The printed tokens lie between those of the smallest and the largest pool that is printed so."""
    size, rounding = sum(float(each) for each in row["pool"]) * GIB, HALF_DIGIT * len(row["pool"])
    tokens = [
        plan_of(MODELS[row["model"]], **row["settings"], available_kv_bytes=round(pool)).printed.kv_tokens or 0
        for pool in (size - rounding, size + rounding)
    ]
    assert tokens[0] - 1 <= row["held"]["full"] <= tokens[1]  # the pool printed holds one page more than is charged


def rest(row: dict[str, Any]) -> float:
    """What the printed free memory leaves for the pools, in GiB."""
    return float(row["free_after"]) - float(row["free_before"]) * (1 - float(row["fraction"]))


@pytest.mark.parametrize(
    ("receipt", "tolerance"),
    [
        ("s001", 0.004),
        ("s028", 0.0002),
        ("s031", 0.0002),
        ("s036", 0.002),
        # Two ranks: the pool follows the one with less free memory, the first one's is printed.
        ("s002", 0.01),
        ("s005", 0.011),
    ],
)
def test_tokens_of_the_printed_free_memory(receipt: str, tolerance: float) -> None:
    row = BY_ID[receipt]
    planned = plan_of(MODELS[row["model"]], **row["settings"], available_kv_bytes=round(rest(row) * GIB))
    assert planned.printed.kv_tokens == pytest.approx(row["held"]["full"], rel=tolerance)


@pytest.mark.parametrize(
    ("receipt", "tokens"),
    [("s001", 46_620), ("s002", 102_407), ("s005", 24_476), ("s028", 442_771), ("s031", 6_612_333), ("s036", 298_424)],
)
def test_tokens_worked_out_from_the_printed_free_memory(receipt: str, tokens: int) -> None:
    """The same arithmetic done by hand for these receipts."""
    row = BY_ID[receipt]
    planned = plan_of(MODELS[row["model"]], **row["settings"], available_kv_bytes=round(rest(row) * GIB))
    assert planned.printed.kv_tokens is not None
    assert abs(planned.printed.kv_tokens - tokens) <= 1


def test_tokens_of_a_budget_printed_in_bytes() -> None:
    row = BY_ID["s015"]
    assert plan_of(MODELS[row["model"]], available_kv_bytes=row["budget"]).printed.kv_tokens == 1_669_816


@pytest.mark.parametrize("receipt", ["s013", "s025", "s033"])
def test_the_split_between_states_and_tokens(receipt: str) -> None:
    """Tokens and slots as printed come back from the budget that they were charged."""
    row = BY_ID[receipt]
    spec, held = MODELS[row["model"]], row["held"]
    scenario = make_scenario({"model": "test", "engine": "sglang", **row["settings"]})
    rules = rules_of(release_of(scenario.engine_version)[1])
    settings = choose(scenario, spec, traits_of(spec), rules, card_of(scenario, None)).settings
    _, stage = stages_of(spec, settings)[0]
    assert stage.slots is not None
    budget = int(stage.slots.charge(held["slots"])) + int(stage.pools.need(held["full"], 0))
    planned = plan_of(spec, **row["settings"], available_kv_bytes=budget)
    assert planned.printed.kv_tokens == held["full"]
    assert f"max_mamba_cache_size: {held['slots']}," in planned.log.lines[0]


def test_the_padding_slot_is_charged_in_the_release_of_s033() -> None:
    """Charged as before 0.5.18, the same tokens and slots would not add up to the share of 0.9."""
    row = BY_ID["s033"]
    budget = 330_323 * 65_536 + 124 * 153_944_064
    old = plan_of(MODELS[row["model"]], available_kv_bytes=budget, engine_version="0.5.15")
    assert "max_mamba_cache_size: 125," in old.log.lines[0]


def test_capacity_of_compressed_caches_is_a_multiple_of_their_page() -> None:
    """Receipts s020 and s021: 73,472, 120,576 and 2,413,824 tokens are multiples of 256."""
    planned = plan_of(MODELS["DeepSeek-V4-Flash"], available_kv_bytes=40 * GIB, max_num_seqs=64)
    assert planned.scenario.block_size == 256
    assert planned.printed.kv_tokens is not None
    assert planned.printed.kv_tokens % 256 == 0


def within_error(fitted: Fitted, gaps: list[float]) -> None:
    assert round(median(gaps), 2) * GIB == pytest.approx(fitted.bytes, abs=1)
    assert max(abs(gap * GIB - fitted.bytes) for gap in gaps) <= fitted.error_bytes + HALF_DIGIT


def test_context_is_fitted_to_the_free_memory_before_loading() -> None:
    gaps = []
    for receipt in calibration.SGLANG_CONTEXT.receipts:
        figure = get_accelerator(BY_ID[receipt]["card"]).memory_for_budget
        assert figure is not None
        gaps.append(figure.bytes / GIB - float(BY_ID[receipt]["free_before"]))
    within_error(calibration.SGLANG_CONTEXT, gaps)


def test_loading_is_fitted_to_what_unquantized_checkpoints_took() -> None:
    gaps = []
    for receipt in calibration.SGLANG_LOADING.receipts:
        row = BY_ID[receipt]
        scenario = make_scenario({"model": "test", "engine": "sglang", "weights": "bf16", **row["settings"]})
        weights = ENGINE.plan(scenario, find_entry(row["checkpoint"]).spec, None).ranks[0].weights
        gaps.append(float(row["loaded"]) - weights / GIB)
    within_error(calibration.SGLANG_LOADING, gaps)
