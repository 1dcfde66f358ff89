"""What Live says and draws of a run on a GPU, where the allocator and the driver speak too."""

import json
from typing import Any

import plotly.graph_objects as go
import pytest

from components import live_chart, live_times, live_words
from components.live_result import figures, legend
from live.prediction import predicted_of
from live.receipts import Receipt, Run, read_receipt
from tests.live.test_live_receipts import RATE, receipt_data, run_data, steps


def receipt(**run: Any) -> Receipt:
    return read_receipt(json.dumps(receipt_data(runs=[run_data(**run)])))


def said(**run: Any) -> tuple[str, str]:
    found = receipt(**run)
    predicted = predicted_of(found.runs[0])
    return live_words.verdict(found.runs[0], predicted), live_words.how_sure(found.runs[0], predicted, found.device)


def test_the_slope_is_said_of_one_request_beside_the_allocators_share() -> None:
    verdict, sure = said()
    assert verdict.endswith(f"Measured equals predicted at every one of 4 steps: {2 * RATE * 13:,} bytes")
    assert f"{RATE} B per token measured (± 0 B), {RATE} B per token predicted" in sure
    assert "fixed part 0 B measured, 0 B predicted" in sure
    assert "The allocator holds 2.0× the cache because each step concatenates." in sure
    assert "CPU" not in sure


def test_the_driver_is_heard_and_what_is_left_afterwards() -> None:
    before = {"allocated": 50_000, "reserved": 60_000, "driver": 2**30}
    _, sure = said(before=before, steps=steps(driver=[2**30 + 2**21] * 4), released={"allocated": 0})
    assert "The driver counts 1.00 GiB in use at the end, 2 MiB more than before the first token." in sure
    assert "Afterwards torch held 0 B." in sure


def test_a_difference_is_named_with_its_place_and_size() -> None:
    wrong = steps()
    wrong["cache"][2] -= 5
    assert said(steps=wrong)[0].endswith("Measured differs from predicted at 1 of 4 steps, by −5 B at most")


def test_out_of_memory_is_the_headline_and_what_was_measured_is_kept() -> None:
    finding = {"kind": "out_of_memory", "tokens": 13, "message": "Out of memory after 13 tokens."}
    verdict, sure = said(finding=finding)
    assert verdict.endswith("Out of memory after 13 tokens")
    assert "Until then measured equalled predicted." in sure


def test_allocated_and_reserved_are_drawn_beyond_the_weights() -> None:
    run = receipt().runs[0]
    figure = live_chart.growth_figure(run, predicted_of(run), playable=True)
    go.Figure(figure)  # refuses what plotly does not know
    traces = {trace["name"]: trace for trace in figure["data"]}
    kib = [2 * RATE * n / 1024 for n in (10, 11, 12, 13)]
    assert traces["Allocated by torch"]["y"] == kib
    assert traces["Reserved by the allocator"]["y"] == [2 * value for value in kib]
    assert len(figure["frames"]) == 4
    assert figure["frames"][0]["traces"] == [[trace["name"] for trace in figure["data"]].index("Measured")]
    assert [item.name for item in legend(run, predicted_of(run))][2:] == list(traces)[:2]
    assert ("Reserved by torch", "13.0 KiB", "2.0× the cache") in figures(run, predicted_of(run))


def test_times_are_drawn_with_and_without_the_cache() -> None:
    run = receipt(recompute={"tokens": [10, 13], "seconds": [0.1, 0.2]}).runs[0]
    figure = live_times.times_figure(run)
    go.Figure(figure)
    without = next(trace for trace in figure["data"] if trace["name"] == "Without the cache")
    assert without["y"] == pytest.approx([100, 200])
    assert "At 13 tokens a token takes 200 ms without the cache and 22.0 ms with it" in live_words.times_sentence(
        run, predicted_of(run)
    )


def test_padding_is_said_in_bytes_and_time() -> None:
    padding = {
        "lengths": [8, 4],
        "padded_bytes": 2**20,
        "alone_bytes": 3 * 2**18,
        "padded_seconds": 0.3,
        "even_seconds": 0.2,
    }
    run: Run = receipt(padding=padding).runs[0]
    sentence = live_words.padding_sentence(run)
    assert "keeps 1.00 MiB of cache, 25% of it for padding" in sentence
    assert "takes 300 ms, 1.5× that of as many real tokens" in sentence


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.000123, "0.12 ms"), (0.0123, "12.3 ms"), (0.0996, "100 ms"), (2.5, "2,500 ms")]
)
def test_milliseconds_have_three_figures(seconds: float, text: str) -> None:
    assert live_words.milliseconds(seconds) == text
