"""Accuracy through Streamlit's own test runner: the headline, the filters and whatever an address may say."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from components.accuracy_data import every_comparison
from sizing.receipts.summary import summary_of

ROOT = Path(__file__).parents[2]
HEADLINE = re.compile(r"([\d,]+) of ([\d,]+) printed figures are predicted within 1 %")


def opened(**query: str) -> AppTest:
    """The page as a visitor with this address sees it; it must not have raised."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page("pages/accuracy.py")
    for name, value in query.items():
        app.query_params[name] = value
    return ran(app)


def ran(app: AppTest) -> AppTest:
    app.run()
    assert [error.message for error in app.exception] == []
    return app


def counts(app: AppTest) -> tuple[int, int]:
    match = HEADLINE.fullmatch(app.title[0].value)
    assert match is not None
    close, predicted = (int(text.replace(",", "")) for text in match.groups())
    return close, predicted


def test_the_headline_counts_every_prediction() -> None:
    summary = summary_of(every_comparison())
    app = opened()
    assert counts(app) == (summary.close, summary.predicted)
    table = app.dataframe[0].value
    assert len(table) == summary.predicted + summary.fitted
    assert sum(table["Counted"] == "yes") == summary.predicted
    assert any(
        f"{summary.fitted} figures from which a setting or the model was worked out" in caption.value
        for caption in app.caption
    )
    assert [metric.label for metric in app.metric] == ["Median error", "90th percentile", "Worst", "Models"]


def test_every_figure_and_every_receipt_is_in_one_of_the_tables() -> None:
    app = opened()
    printed = len(every_comparison())
    unpredicted = app.dataframe[1].value
    assert len(app.dataframe[0].value) + sum(unpredicted["Figure"] != "none") == printed
    assert all(unpredicted["Why there is no prediction"].str.endswith("."))


def test_the_furthest_off_comes_first_with_its_reason() -> None:
    table = opened().dataframe[0].value
    errors = table["Error, %"].abs()
    assert errors.is_monotonic_decreasing
    assert table["Why it misses"].iloc[0].endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [("engine", "llama.cpp"), ("figure", "Weights"), ("family", "gemma4"), ("version", "0.19")],
)
def test_filters_of_an_address(name: str, value: str) -> None:
    every, some = opened(), opened(**{name: value})
    assert 0 < counts(some)[1] < counts(every)[1]
    assert next(box.value for box in some.selectbox if box.key == f"accuracy_{name}") == value


def test_a_filter_is_in_the_address_and_changes_the_versions_offered() -> None:
    app = opened()
    engine, version = app.selectbox(key="accuracy_engine"), app.selectbox(key="accuracy_version")
    assert "0.19" in version.options
    engine.set_value("tensorrt-llm")
    ran(app)
    assert app.query_params["engine"] in ("tensorrt-llm", ["tensorrt-llm"])
    assert app.selectbox(key="accuracy_version").options == ["All", "not stated", "0.13", "0.19", "1.1"]
    app.selectbox(key="accuracy_engine").set_value("")
    ran(app)
    assert "engine" not in app.query_params


def test_a_version_of_another_engine_is_let_go() -> None:
    app = opened(engine="vllm", version="0.22")
    app.selectbox(key="accuracy_engine").set_value("tensorrt-llm")
    ran(app)
    assert app.selectbox(key="accuracy_version").value == ""
    assert "version" not in app.query_params


@pytest.mark.parametrize("name", ["engine", "family", "version", "figure"])
def test_an_unknown_value_is_named_and_the_rest_is_kept(name: str) -> None:
    app = opened(**{"engine": "vllm", name: "<b>nothing</b>"})
    said = [caption.value for caption in app.caption]
    assert any(f"In the link, {name} is" in caption for caption in said)
    assert counts(app)[1] > 0


def test_filters_that_leave_nothing_say_so() -> None:
    app = opened(engine="minimum", figure="Weights")
    assert "Cache sizes" in app.selectbox(key="accuracy_figure").options
    app = opened(engine="tensorrt-llm", family="qwen3", figure="Cache sizes")
    assert app.title[0].value == "None of these figures can be predicted"
