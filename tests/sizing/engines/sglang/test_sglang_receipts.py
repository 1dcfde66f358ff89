"""Engine sglang against figures of public start-up logs (tests/receipts/sglang.json), beyond tests/test_receipts.py."""

from pathlib import Path
from statistics import median

import pytest

from hardware_catalog import get_accelerator
from model_catalog.spec import ModelSpec
from sizing.answer import find_spec
from sizing.engines import calibration
from sizing.engines.calibration import Fitted
from sizing.engines.plan import EnginePlan
from sizing.engines.sglang import ENGINE
from sizing.engines.sglang.choices import card_of, choose
from sizing.engines.sglang.defaults import running_default
from sizing.engines.sglang.rules import release_of, rules_of
from sizing.engines.sglang.stages import stages_of
from sizing.engines.sglang.traits import traits_of
from sizing.receipts.receipt import Receipt, read_receipts
from sizing.receipts.shapes import read_shapes
from sizing.scenario import make_scenario
from sizing.units import GIB

FOLDER = Path(__file__).parents[3] / "receipts"
RECEIPTS = {receipt.id: receipt for receipt in read_receipts(FOLDER) if receipt.engine == "sglang"}
SHAPES = read_shapes(FOLDER)
HALF_DIGIT = 0.005 * GIB
POOLS = ("pool_size", "cache_size")
UNSURE = {
    "s010": "The print leaves out the scales of fp4.",
    "s011": "The cell holds more than is printed (the fp8 workspace).",
    "s016": "The old split leaves part of the budget unused.",
    "s017": "The old split leaves part of the budget unused.",
    "s024": "States take a share that is not printed.",
    "s025": "States take a share of the budget.",
}


def spec_of(receipt: Receipt) -> ModelSpec:
    return SHAPES[receipt.shape] if receipt.shape else find_spec(receipt.model or "")


def planned(receipt: Receipt, **settings: object) -> EnginePlan:
    scenario = make_scenario(receipt.values | settings)
    card = get_accelerator(scenario.accelerator) if scenario.accelerator else None
    return ENGINE.plan(scenario, spec_of(receipt), card)


def pool_of(receipt: Receipt) -> list[str]:
    """The printed sizes that make up the pool."""
    whole = [receipt.printed[name] for name in POOLS if name in receipt.printed]
    return whole[:1] or [receipt.printed[name] for name in ("key_size", "value_size") if name in receipt.printed]


@pytest.mark.parametrize(
    "receipt",
    [
        pytest.param(each, id=each.id)
        for each in RECEIPTS.values()
        if pool_of(each) and "kv_tokens" in each.printed and "slots" not in each.printed and each.id not in UNSURE
    ],
)
def test_tokens_of_the_printed_pool(receipt: Receipt) -> None:
    """The printed tokens lie between those of the smallest and the largest pool that is printed so."""
    sizes = pool_of(receipt)
    size, rounding = sum(float(each) for each in sizes) * GIB, HALF_DIGIT * len(sizes)
    tokens = [
        planned(receipt, available_kv_bytes=round(pool)).printed.kv_tokens or 0
        for pool in (size - rounding, size + rounding)
    ]
    assert tokens[0] - 1 <= int(receipt.printed["kv_tokens"]) <= tokens[1]  # a page more is printed than is charged


@pytest.mark.parametrize(
    ("receipt", "tokens"),
    [("s001", 46_620), ("s002", 102_407), ("s005", 24_476), ("s028", 442_771), ("s031", 6_612_333), ("s036", 298_424)],
)
def test_tokens_worked_out_from_the_printed_free_memory(receipt: str, tokens: int) -> None:
    """The same arithmetic done by hand for these receipts."""
    row = RECEIPTS[receipt]
    left = float(row.scenario["memory_fraction"])
    rest = float(row.printed["free_after"]) - float(row.printed["free_before"]) * (1 - left)
    found = planned(row, available_kv_bytes=round(rest * GIB)).printed.kv_tokens
    assert found is not None
    assert abs(found - tokens) <= 1


# Nothing but the model, the card and the flags. s020 and s021 load DeepSeek-V4-Flash in fp8, which an L20 needs;
# 120,576 tokens is what the thread of s020 tells of a start without drafts.
FLAGS_ALONE = {
    "s001": ("46611", {}),
    "s020": ("120576", {"engine_version": "0.5.14", "weights": "fp8"}),
    "s021": ("2413824", {"engine_version": "0.5.14", "weights": "fp8"}),
    "s028": ("442750", {"accelerator": "h100-sxm5-80gb"}),
    "s033": ("330323", {"weights": "fp8"}),
    "s039": ("367404", {}),
}


@pytest.mark.parametrize("receipt", FLAGS_ALONE)
def test_tokens_from_model_card_and_flags_alone(receipt: str) -> None:
    """The printed tokens are within the error that the plan states."""
    printed, settings = FLAGS_ALONE[receipt]
    plan = planned(RECEIPTS[receipt], **settings)
    available = plan.ranks[0].available
    assert available is not None
    tokens = [
        planned(RECEIPTS[receipt], **settings, available_kv_bytes=available + error).printed.kv_tokens or 0
        for error in (-plan.error_bytes, plan.error_bytes)
    ]
    assert tokens[0] <= int(printed) <= tokens[1]


def test_slots_from_model_card_and_flags_alone() -> None:
    """s033: Qwen 3.8 27B in fp8 on an H100 prints 124 slots and 330,323 tokens."""
    plan = planned(RECEIPTS["s033"], weights="fp8")
    assert "max_mamba_cache_size: 124," in plan.log.lines[0]
    assert plan.printed.kv_tokens == pytest.approx(330_323, rel=0.001)


@pytest.mark.parametrize("receipt", ["s013", "s025", "s033"])
def test_the_split_between_states_and_tokens(receipt: str) -> None:
    """Tokens and slots as printed come back from the budget that they were charged."""
    row = RECEIPTS[receipt]
    spec, tokens, slots = spec_of(row), int(row.printed["kv_tokens"]), int(row.printed["slots"])
    scenario = make_scenario(row.values)
    rules = rules_of(release_of(scenario.engine_version)[1])
    settings = choose(scenario, spec, traits_of(spec), rules, card_of(scenario, None)).settings
    _, stage = stages_of(spec, settings)[0]
    assert stage.slots is not None
    budget = int(stage.slots.charge(slots)) + int(stage.pools.need(tokens, 0))
    plan = planned(row, available_kv_bytes=budget)
    assert plan.printed.kv_tokens == tokens
    assert f"max_mamba_cache_size: {slots}," in plan.log.lines[0]


def test_the_padding_slot_is_charged_in_the_release_of_s033() -> None:
    """Charged as before 0.5.17, the same tokens and slots would not add up to the share of 0.9."""
    budget = 330_323 * 65_536 + 124 * 153_944_064
    old = planned(RECEIPTS["s033"], available_kv_bytes=budget, engine_version="0.5.15")
    assert "max_mamba_cache_size: 125," in old.log.lines[0]


@pytest.mark.parametrize(("tokens", "context", "running"), [(1_557_709, 32_768, 4096), (298_447, 40_960, 3730)])
def test_running_requests_as_printed(tokens: int, context: int, running: int) -> None:
    """Receipts s008 and s036."""
    assert running_default(tokens, context) == running


def within_error(fitted: Fitted, gaps: list[float]) -> None:
    assert round(median(gaps), 2) * GIB == pytest.approx(fitted.bytes, abs=1)
    assert max(abs(gap * GIB - fitted.bytes) for gap in gaps) <= fitted.error_bytes + HALF_DIGIT


def gap_of(receipt: str) -> float:
    """GiB that CUDA offers beyond what was free before loading."""
    figure = get_accelerator(RECEIPTS[receipt].scenario["accelerator"]).memory_for_budget
    assert figure is not None
    return figure.bytes / GIB - float(RECEIPTS[receipt].printed["free_before"])


def test_context_is_fitted_to_the_free_memory_before_loading() -> None:
    within_error(calibration.SGLANG_CONTEXT, [gap_of(each) for each in calibration.SGLANG_CONTEXT.receipts])


def test_links_are_fitted_to_what_eight_ranks_take_beyond_the_context() -> None:
    context = calibration.SGLANG_CONTEXT.bytes / GIB
    within_error(calibration.SGLANG_LINKS, [gap_of(each) - context for each in calibration.SGLANG_LINKS.receipts])


def test_loading_is_fitted_to_what_unquantized_checkpoints_took() -> None:
    gaps = []
    for receipt in calibration.SGLANG_LOADING.receipts:
        row = RECEIPTS[receipt]
        gaps.append(float(row.printed["weights"]) - planned(row, weights="bf16").ranks[0].weights / GIB)
    within_error(calibration.SGLANG_LOADING, gaps)
