"""The core held to public start-up figures: golden values, the targets for each kind, and no miss without a reason."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.receipts.comparing import Comparison, Predicted, half_digit
from sizing.receipts.figures import FIGURES
from sizing.receipts.predicting import compare
from sizing.receipts.receipt import NO_LINK, Receipt, read_receipts
from sizing.receipts.shapes import read_shapes
from sizing.receipts.summary import summary_of
from sizing.scenario import make_scenario

FOLDER = Path(__file__).parent / "receipts"
SERVING = ("vllm", "sglang", "llama.cpp", "tensorrt-llm")
INPUTS = {
    "slots",
    "free_before",
    "free_after",
    "free_memory",
    "budget_bytes",
    "activation",
    "graphs",
    "graphs_estimate",
    "non_torch",
}


@cache
def receipts() -> tuple[Receipt, ...]:
    return read_receipts(FOLDER)


@cache
def comparisons() -> tuple[Comparison, ...]:
    return compare(receipts(), read_shapes(FOLDER))


def predicted(engine: str, *kinds: str) -> list[Comparison]:
    """All comparisons of these kinds that have a prediction which counts."""
    return [
        each for each in comparisons() if each.receipt.engine == engine and each.figure.kind in kinds and each.counts
    ]


def one(receipt: str, name: str) -> Comparison:
    return next(each for each in comparisons() if each.receipt.id == receipt and each.name == name)


def share_within_rounding(found: Iterable[Comparison]) -> float:
    hits = [each.within_rounding for each in found]
    return sum(hits) / len(hits)


@pytest.mark.parametrize(
    ("receipt", "name", "digits"),
    [
        ("v051", "weights", "14.99"),
        ("v150", "kv_tokens", "38944"),
        ("v150", "max_concurrency", "1.22"),
        ("v003", "max_concurrency", "18.44"),
        ("v003", "block_size", "1056"),
        ("v002", "block_size", "8432"),
        ("v073", "needed_kv", "16.00"),
        ("v044", "kv_tokens", "5721088"),
        ("s015", "kv_tokens", "1669816"),
        ("s002", "window_key_size", "6.23"),
        ("s017", "pool_size", "77.63"),
        ("s033", "ssm_size", "17.58"),
        ("l001", "device_weights", "4155.99"),
        ("l005", "main", "1151.50"),
        ("l025", "main", "367.03"),
        ("l035", "window_cells", "1024"),
        ("l045", "state", "1047.38"),
        ("l048", "compute", "560.00"),
        ("t001", "num_blocks", "8219"),
        ("t004", "num_blocks", "631"),
        ("C13-131072", "total_gb", "3.00"),
        ("C54", "rate", "16384"),
    ],
)
def test_golden_figures(receipt: str, name: str, digits: str) -> None:
    """Receipts whose arithmetic is known: the digits as printed, from the file and from the prediction."""
    found = one(receipt, name)
    assert found.text == digits
    assert found.within_rounding


@pytest.mark.parametrize(
    ("engine", "kinds"),
    [
        ("vllm", ("KV tokens",)),
        ("vllm", ("Max concurrency",)),
        ("vllm", ("Cache sizes",)),
        ("sglang", ("KV tokens", "Cache sizes", "State")),
        ("llama.cpp", ("KV tokens", "Cache sizes", "State")),
        ("tensorrt-llm", ("KV tokens", "Cache sizes")),
    ],
)
def test_nine_in_ten_lie_within_the_printed_rounding(engine: str, kinds: tuple[str, ...]) -> None:
    assert share_within_rounding(predicted(engine, *kinds)) >= 0.9


def test_most_token_counts_of_vllm_are_predicted_at_all() -> None:
    """So that the target above is not met by setting rows aside."""
    printed = [each for each in comparisons() if each.receipt.engine == "vllm" and each.name == "kv_tokens"]
    paired = [each for each in printed if "available_kv" in each.receipt.printed and each.receipt.version]
    assert sum(each.counts for each in paired) / len(paired) >= 0.9


def test_weights_of_vllm() -> None:
    """Against "Model loading took"."""
    found = summary_of(predicted("vllm", "Weights"))
    assert found.predicted >= 60
    assert found.median is not None and found.median <= 0.005
    assert found.ninetieth is not None and found.ninetieth <= 0.02


def test_memory_that_vllm_leaves_for_the_cache() -> None:
    """From model, GPU and flags alone."""
    found = summary_of(predicted("vllm", "Available KV"))
    assert found.predicted >= 25
    assert found.median is not None and found.median <= 0.03
    assert found.ninetieth is not None and found.ninetieth <= 0.10


def test_every_miss_has_a_reason_and_nothing_else_has_one() -> None:
    missed = {(each.receipt.id, each.name) for each in comparisons() if each.predicted is not None and not each.hit}
    explained = {(receipt.id, name) for receipt in receipts() for name in receipt.explained}
    assert missed == explained


def test_every_figure_without_a_prediction_has_a_reason() -> None:
    silent = [(each.receipt.id, each.name) for each in comparisons() if each.predicted is None and not each.reason]
    assert silent == []


def test_receipts_are_well_formed() -> None:
    ids = [receipt.id for receipt in receipts()]
    assert len(ids) == len(set(ids))
    for receipt in receipts():
        assert receipt.linked or receipt.link == NO_LINK
        assert receipt.printed.keys() <= FIGURES.keys() | INPUTS, receipt.id
        assert not receipt.explained.keys() & receipt.unpredictable.keys(), receipt.id
        assert receipt.explained.keys() | receipt.unpredictable.keys() <= receipt.printed.keys(), receipt.id
        sentences = [*receipt.inferred.values(), *receipt.unpredictable.values(), *receipt.explained.values()]
        assert all(sentence.endswith(".") for sentence in sentences), receipt.id
        assert receipt.printed or receipt.resolved, receipt.id


def test_scenarios_of_receipts_are_valid() -> None:
    for receipt in receipts():
        if receipt.engine in SERVING:
            make_scenario(receipt.values)


def test_figures_that_a_setting_was_read_off_are_not_counted() -> None:
    """v081: of a log without release, cache format and caching of prefixes; v049: of one whose fraction is a sum."""
    for receipt in receipts():
        assert set(receipt.fitted) <= receipt.printed.keys() - receipt.unpredictable.keys(), receipt.id
        assert receipt.inferred or receipt.resolved or not receipt.fitted, receipt.id
    assert not one("v081", "kv_tokens").counts and one("v081", "kv_tokens").within_rounding
    assert not one("v049", "available_kv").counts
    summary = summary_of(comparisons())
    assert summary.predicted + summary.fitted == sum(each.predicted is not None for each in comparisons())
    assert summary.fitted >= 20


def test_inferred_settings_are_in_the_scenario() -> None:
    """But for the fraction, which is inferred to be the default, and the release, which stands beside it."""
    for receipt in receipts():
        assert receipt.inferred.keys() - {"memory_fraction", "version"} <= receipt.values.keys(), receipt.id
        assert "version" not in receipt.inferred or receipt.version, receipt.id


def test_summary_counts_and_ranks() -> None:
    found = summary_of(made(text, value) for text, value in (("100", 100), ("100", 99.5), ("100", 90), ("100", None)))
    assert (found.printed, found.predicted, found.within_rounding, found.close) == (4, 3, 1, 2)
    assert found.median == pytest.approx(0.005)
    assert found.ninetieth == pytest.approx(0.1)
    assert found.worst is not None and found.worst.error == pytest.approx(-0.1)


@given(whole=st.integers(0, 10**6), hundredths=st.integers(0, 99), shift=st.integers(-4, 4))
def test_what_rounds_to_the_printed_digits_is_within_their_rounding(whole: int, hundredths: int, shift: int) -> None:
    text = f"{whole}.{hundredths:02}"
    found = made(text, float(text) + shift / 1000)
    assert found.within_rounding
    assert found.error == 0.0


@given(whole=st.integers(1, 10**6), hundredths=st.integers(0, 99), digits=st.integers(1, 50))
def test_what_rounds_to_other_digits_is_not(whole: int, hundredths: int, digits: int) -> None:
    text = f"{whole}.{hundredths:02}"
    assert not made(text, float(text) + digits / 100).within_rounding


def test_counts_are_not_rounded() -> None:
    assert half_digit("41408") == 0
    assert half_digit("1.42") == pytest.approx(0.005)
    assert not made("41408", 41409).within_rounding


def made(text: str, value: float | None) -> Comparison:
    receipt = Receipt(id="made", engine="vllm", name="made", link=NO_LINK)
    return Comparison(
        receipt=receipt,
        family=None,
        name="kv_tokens",
        text=text,
        predicted=None if value is None else Predicted.exactly(value, "exact"),
        reason=None,
    )
