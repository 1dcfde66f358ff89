from math import prod

import pytest

from components.formula import Factor, formula_lines
from model_catalog.lookup import all_entries, find_entry
from sizing.engines.plan import EnginePlan
from sizing.report import Report
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import plan, report_of


def planned(model: str, **values: object) -> EnginePlan:
    return plan(make_scenario({"model": model, "engine": "minimum", **values}), find_entry(model).spec)


def summed(plan_: EnginePlan) -> int:
    return sum(line.result for line in formula_lines(plan_))


@pytest.mark.parametrize(
    ("model", "batch", "layers", "size"),
    [
        ("meta-llama/Meta-Llama-3-70B-Instruct", 8, 80, 21_474_836_480),
        ("meta-llama/Meta-Llama-3-8B-Instruct", 16, 32, 17_179_869_184),
    ],
)
def test_the_two_course_examples(model: str, batch: int, layers: int, size: int) -> None:
    (line,) = formula_lines(planned(model, context_length=8192, batch_size=batch))
    assert line.factors == (
        Factor(layers, "layers"),
        Factor(2, "K and V"),
        Factor(8, "KV heads"),
        Factor(128, "head dim"),
        Factor(2, "bytes"),
        Factor(8192, "tokens"),
        Factor(batch, "requests"),
    )
    assert line.result == size


def test_a_windowed_model_has_a_line_for_each_kind() -> None:
    """Gemma 3 27B at 32,768 tokens: 10 full layers keep 2,560 MiB, 52 with a window of 1,024 keep 416 MiB."""
    full, window = formula_lines(planned("google/gemma-3-27b-it", context_length=32_768))
    assert (full.name, full.result) == ("Full attention", 2560 * 2**20)
    assert (window.name, window.result) == ("Window of 1,024", 416 * 2**20)
    assert window.factors[5] == Factor(1024, "min(32,768, 1,024) tokens")


def test_latent_attention_keeps_576_numbers_a_token() -> None:
    (line,) = formula_lines(planned("deepseek-ai/DeepSeek-V3", context_length=131_072))
    assert line.factors[1] == Factor(576, "512 latent + 64 rotary dims")
    assert line.result == 9_210_691_584


def test_recurrent_state_is_told_apart_from_what_grows() -> None:
    """Qwen3.5-27B: fp32 states and bf16 inputs of the convolution, kernel − 1 columns."""
    names = [line.name for line in formula_lines(planned("Qwen/Qwen3.5-27B", context_length=131_072))]
    assert names == ["Full attention", "Gated delta state, convolution", "Gated delta state, recurrence"]
    assert summed(planned("Qwen/Qwen3.5-27B", context_length=131_072)) == 8_743_878_656


LOADS = [
    {},
    {"context_length": 33_333, "batch_size": 7},
    {"context_length": 40_001, "batch_size": 3, "shared_prefix_tokens": 1_001},
    {"kv_dtype": "q8_0", "context_length": 5_000},
    {"kv_dtype": {"k": "fp8", "v": "bf16"}},
    {"engine": "transformers", "context_length": 700, "batch_size": 2},
]


@pytest.mark.parametrize("values", LOADS)
def test_every_shown_product_is_the_shown_result_and_the_sum_is_the_cores(values: dict[str, object]) -> None:
    compared = 0
    for entry in all_entries():
        try:
            plan_ = plan(make_scenario({"model": entry.id, "engine": "minimum", **values}), entry.spec)
        except ScenarioError:
            continue  # a format whose blocks do not divide this model's rows
        lines = formula_lines(plan_)
        assert all(prod(factor.value for factor in line.factors) == line.result for line in lines), entry.id
        assert sum(line.result for line in lines) == expected(report_of(plan_)), entry.id
        compared += 1
    assert compared > 150


def expected(report: Report) -> int:
    return report.cache.logical_bytes if report.scenario.engine == "minimum" else report.cache.reserved_bytes
