"""The Accuracy page's words, bins and figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import accuracy_histogram as histogram
from components import accuracy_scatter as scatter
from components import accuracy_words as words
from components.accuracy_data import Filters, options, release
from sizing.receipts.comparing import Comparison, Predicted
from sizing.receipts.receipt import NO_LINK, Receipt


def made(name: str, text: str, value: float | None, engine: str = "vllm", version: str | None = "0.19.1") -> Comparison:
    return Comparison(
        receipt=Receipt(id="made", engine=engine, version=version, name="made/Model-8B", link=NO_LINK),
        family="llama",
        name=name,
        text=text,
        predicted=None if value is None else Predicted.exactly(value, "exact"),
        reason=None,
    )


@pytest.mark.parametrize(
    ("error", "label"),
    [
        (0.0, "±0.1"),
        (0.001, "±0.1"),
        (-0.001, "±0.1"),
        (0.0011, "0.1 … 0.5"),
        (-0.0011, "−0.5 … −0.1"),
        (0.01, "0.5 … 1"),
        (-0.02, "−2 … −1"),
        (0.1, "5 … 10"),
        (0.11, "> 10"),
        (-0.39, "< −10"),
    ],
)
def test_bins_widen_outwards(error: float, label: str) -> None:
    assert histogram.LABELS[histogram.bin_of(error)] == label


@given(error=st.floats(0, 2))
def test_bins_are_symmetric(error: float) -> None:
    assert histogram.bin_of(error) + histogram.bin_of(-error) == len(histogram.LABELS) - 1


def test_histogram_counts_every_prediction_once_and_leaves_empty_bars_out() -> None:
    found = [made("kv_tokens", "100", 100), made("kv_tokens", "100", 103), made("weights", "1.00", None)]
    figure = histogram.histogram(found)
    assert [trace["name"] for trace in figure["data"]] == ["KV tokens"]
    assert [count for count in figure["data"][0]["x"] if count is not None] == [1, 1]
    assert [each["text"] for each in figure["layout"]["annotations"]] == ["1", "1"]


def test_scatter_leaves_out_what_has_no_place_on_its_axes() -> None:
    found = [made("kv_tokens", "100", 103), made("available_kv", "1.74", -2.2), made("weights", "1.00", None)]
    figure = scatter.scatter(found, found[0])
    assert sum(len(trace["x"]) for trace in figure["data"][1:]) == 1
    assert figure["layout"]["annotations"][1]["text"] == "Model-8B  +3.0 %"


def test_errors_read_as_per_cent() -> None:
    shown = [words.signed(share) for share in (0.0, 0.0003, -0.0067, 0.0131, -0.3942, None)]
    assert shown == ["0.00 %", "+0.03 %", "−0.67 %", "+1.3 %", "−39 %", "–"]


def test_predictions_have_the_decimals_of_the_print() -> None:
    assert words.predicted(made("weights", "14.9889", 15.0)) == "15.0000 GiB"
    assert words.predicted(made("kv_tokens", "38944", 38_912)) == "38,912"
    assert words.predicted(made("max_concurrency", "1.22", 1.219)) == "1.22×"
    assert words.predicted(made("available_kv", "1.74", -2.204)) == "−2.20 GiB"
    assert words.printed(made("kv_tokens", "1934432", None)) == "1,934,432"


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("0.19.2rc1.dev134+gfe9c3d6c5", "0.19"),
        ("0.4.3.post4", "0.4"),
        ("b9010-d05fe1d7d", "b9010-d05fe1d7d"),
        ("2025-06-28", "2025-06-28"),
        (None, "not stated"),
    ],
)
def test_releases_are_told_apart_by_their_minor_version(version: str | None, shown: str) -> None:
    assert release(made("weights", "1.00", None, version=version).receipt) == shown


def test_versions_offered_are_those_of_the_engine_by_number() -> None:
    found = [
        made("weights", "1.00", 1, version="0.10.1"),
        made("weights", "1.00", 1, version="0.9.2"),
        made("weights", "1.00", 1, engine="sglang", version="0.5.9"),
    ]
    assert options(found, Filters(engine="vllm"))["version"] == ["0.9", "0.10"]
    assert options(found, Filters())["engine"] == ["vllm", "sglang"]
    assert [each.receipt.version for each in found if Filters(version="0.9").keep(each)] == ["0.9.2"]
