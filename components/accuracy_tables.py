"""The tables of the Accuracy page: every predicted figure, and everything that cannot be predicted."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from components import accuracy_words as words
from components.accuracy_data import ENGINES, engine_name
from sizing.receipts.comparing import Comparison
from sizing.receipts.receipt import Receipt

ROW_HEIGHT = 35
MOST_ROWS = 14


def draw_predicted(comparisons: Iterable[Comparison]) -> None:
    """Furthest off first."""
    pairs = [each for each in comparisons if each.predicted is not None]
    pairs.sort(key=lambda each: -abs(each.error or 0))
    rows = [
        {
            **_source(each.receipt),
            "Figure": each.figure.label,
            "Predicted": words.predicted(each),
            "Printed": words.printed(each),
            "Error, %": None if each.error is None else each.error * 100,
            "How sure": each.predicted.grade if each.predicted else "",
            "Source": _link(each.receipt),
            "Why it misses": each.reason or "",
            "Counted": "yes" if each.counts else "no: it tells a setting or the model",
            "GPU": each.receipt.gpu or "",
            "Settings that it does not state": " ".join(
                f"{name}: {how}" for name, how in each.receipt.inferred.items()
            ),
        }
        for each in pairs
    ]
    _draw(rows, "predicted_figures")


def draw_unpredicted(comparisons: Iterable[Comparison], without: Sequence[Receipt]) -> None:
    """Figures without a prediction by engine, then receipts without a figure."""
    order = list(ENGINES)
    missing = [each for each in comparisons if each.predicted is None]
    missing.sort(key=lambda each: order.index(each.receipt.engine) if each.receipt.engine in ENGINES else len(order))
    rows = [
        {
            **_source(each.receipt),
            "Figure": each.figure.label,
            "Printed": words.printed(each),
            "Source": _link(each.receipt),
            "Why there is no prediction": each.reason,
        }
        for each in missing
    ]
    rows += [
        {
            **_source(receipt),
            "Figure": "none",
            "Printed": "",
            "Source": _link(receipt),
            "Why there is no prediction": receipt.resolved,
        }
        for receipt in without
    ]
    _draw(rows, "unpredicted_figures")


def _source(receipt: Receipt) -> dict[str, Any]:
    release = f" {receipt.version}" if receipt.version else ""
    return {"Model": receipt.name, "Engine": f"{engine_name(receipt)}{release}"}


def _link(receipt: Receipt) -> str:
    """Empty where the repository is not recorded."""
    return receipt.link if receipt.linked else ""


def _draw(rows: list[dict[str, Any]], key: str) -> None:
    if not rows:
        st.caption("None with these filters.")
        return
    st.dataframe(
        pd.DataFrame(rows),
        key=key,
        hide_index=True,
        height=ROW_HEIGHT * (min(len(rows), MOST_ROWS) + 1) + 3,
        column_config={
            "Model": st.column_config.TextColumn(width=210),
            "Engine": st.column_config.TextColumn(width=120),
            "Figure": st.column_config.TextColumn(width=130),
            "Predicted": st.column_config.TextColumn(width=110, alignment="right"),
            "Printed": st.column_config.TextColumn(width=110, alignment="right"),
            "Error, %": st.column_config.NumberColumn(format="%+.2f", width=75),
            "How sure": st.column_config.TextColumn(width=80),
            "Source": st.column_config.LinkColumn(display_text="open", width=65),
            "Why it misses": st.column_config.TextColumn(width=420),
            "Counted": st.column_config.TextColumn(width=90),
            "Why there is no prediction": st.column_config.TextColumn(width=520),
        },
    )
