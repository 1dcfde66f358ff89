"""Receipts from anywhere: what is good comes back as it was, what is not is one sentence."""

import json
from copy import deepcopy
from typing import Any

import pytest

from live.prediction import fit_line, growth_of, held_ratio, predicted_of, residuals, times_of, weights_equal_cache
from live.receipts import ReceiptError, Run, Steps, read_receipt, recorded_receipts, write_receipt

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}
RATE = 2 * 2 * 2 * 16 * 2  # layers, key and value, heads of 16, bfloat16


def steps(**changed: Any) -> dict[str, Any]:
    """Ten tokens, then three more, of two sequences; a token more costs a millisecond more."""
    tokens = [10, 11, 12, 13]
    columns = {
        "tokens": tokens,
        "cache": [2 * RATE * n for n in tokens],
        "storage": [2 * RATE * n for n in tokens],
        "allocated": [50_000 + 2 * RATE * n for n in tokens],
        "reserved": [60_000 + 4 * RATE * n for n in tokens],
        "driver": [None] * 4,
        "seconds": [0.5, 0.021, 0.022, 0.023],
    }
    return columns | changed


def run_data(**changed: Any) -> dict[str, Any]:
    settings = {"model": "a/b", "batch": 2, "prompt_tokens": 10, "new_tokens": 3}
    before = {"allocated": 50_000, "reserved": 60_000}
    return {
        "settings": settings,
        "config": CONFIG,
        "parameters": 1000,
        "weight_bytes": 2000,
        "before": before,
        "steps": steps(),
    } | changed


def receipt_data(**changed: Any) -> dict[str, Any]:
    return {
        "format": "kv-atlas-live-1",
        "recorded": "2026-11-29",
        "device": {"kind": "cuda", "name": "A GPU", "total_memory": 1},
        "versions": {"torch": "2.13.0"},
        "runs": [run_data()],
    } | changed


def test_a_receipt_comes_back_as_it_was_written() -> None:
    receipt = read_receipt(json.dumps(receipt_data()))
    again = read_receipt(write_receipt(receipt))
    assert again == receipt


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not a receipt"),
        ("[]", "not a receipt"),
        ("{" * 5000, "not a receipt"),
        ("x" * 2_000_001, "longer than 2,000,000"),
        (json.dumps(receipt_data(format="other")), "format"),
        (json.dumps(receipt_data(runs=[])), "runs"),
        (json.dumps(receipt_data(runs=[run_data()] * 33)), "runs"),
        (json.dumps(receipt_data(surprise=1)), "surprise"),
        (json.dumps(receipt_data(recorded="x" * 301)), "recorded"),
        (json.dumps(receipt_data(runs=[run_data(steps=steps(cache=[1]))])), "different lengths"),
        (json.dumps(receipt_data(runs=[run_data(steps=steps(tokens=[10, 10, 11, 12]))])), "do not rise"),
        (json.dumps(receipt_data(runs=[run_data(steps=steps(seconds=[-1, 0, 0, 0]))])), "seconds"),
        (json.dumps(receipt_data(runs=[run_data(steps=steps(seconds=[float("nan"), 0, 0, 0]))])), "not a receipt"),
    ],
)
def test_what_is_no_receipt_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ReceiptError, match=sentence):
        read_receipt(text)


def run(**changed: Any) -> Run:
    return Run.model_validate(run_data(**changed))


def test_residuals_are_measured_minus_predicted() -> None:
    wrong = deepcopy(steps())
    wrong["cache"][2] += 7
    assert residuals(run(), predicted_of(run())) == [0, 0, 0, 0]
    assert residuals(run(steps=wrong), predicted_of(run())) == [0, 0, 7, 0]


def test_slope_and_fixed_part_are_fitted_and_predicted() -> None:
    growth = growth_of(run(), predicted_of(run()))
    assert growth is not None
    assert (growth.slope, growth.intercept) == (2 * RATE, 0)
    assert growth.measured.slope == pytest.approx(2 * RATE)
    assert growth.measured.intercept == pytest.approx(0, abs=1e-6)
    assert growth.measured.slope_half == pytest.approx(0, abs=1e-6)


def test_the_allocators_share_is_counted_beyond_the_weights() -> None:
    assert held_ratio(run()) == 2.0
    assert held_ratio(run(steps=steps(reserved=[None] * 4))) is None


def test_a_fit_has_the_textbooks_intervals() -> None:
    """x 1..5, y 2 4 5 4 5: slope 0.6, intercept 2.2, standard errors 0.2828 and 0.9381."""
    fit = fit_line([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    assert fit is not None
    assert [fit.slope, fit.intercept] == pytest.approx([0.6, 2.2])
    assert fit.slope_half == pytest.approx(1.96 * 0.28284, rel=1e-3)
    assert fit.intercept_half == pytest.approx(1.96 * 0.93808, rel=1e-3)
    assert fit_line([1, 2], [1, 2]) is None


def test_decoding_is_bound_by_the_cache_where_its_part_outweighs_the_rest() -> None:
    """20 ms and 1 ms a token beyond ten: 10 ms + n × 1 ms, so from ten tokens on."""
    times = times_of(run())
    assert times is not None
    assert [times.first, times.each] == pytest.approx([0.5, 0.022])
    assert times.reading_bound_from == 10


def test_the_cache_equals_the_weights_at_a_length() -> None:
    assert weights_equal_cache(run(), predicted_of(run())) == -(-2000 // (2 * RATE))


def test_a_window_is_fitted_after_it_has_filled() -> None:
    window = CONFIG | {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 9}
    short = run(config=window, steps=steps(cache=[2 * RATE * 8] * 4))
    growth = growth_of(short, predicted_of(short))
    assert growth is not None
    assert (growth.slope, growth.intercept) == (0, 2 * RATE * 8)
    assert residuals(short, predicted_of(short)) == [0] * 4


def test_an_empty_run_says_nothing() -> None:
    empty = run(steps=Steps().model_dump())
    assert growth_of(empty, predicted_of(empty)) is None
    assert times_of(empty) is None
    assert held_ratio(empty) is None


def test_every_recorded_receipt_is_as_predicted() -> None:
    receipts = recorded_receipts()
    assert receipts
    for receipt in receipts.values():
        for recorded in receipt.runs:
            assert recorded.steps.tokens
            assert not any(residuals(recorded, predicted_of(recorded)))
