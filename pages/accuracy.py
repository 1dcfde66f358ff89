"""Accuracy: why should I believe it?"""

import streamlit as st

from components import (
    accuracy_filters,
    accuracy_histogram,
    accuracy_scatter,
    accuracy_tables,
    live_accuracy,
    plain_table,
)
from components import accuracy_words as words
from components.accuracy_data import Filters, every_comparison, without_figures
from components.accuracy_marks import draw_legend
from components.frame import enter
from components.memory_bar import CONFIG
from sizing.engines.calibration import VLLM_CHECKED
from sizing.receipts.comparing import Comparison
from sizing.receipts.figures import KINDS
from sizing.receipts.summary import Summary, summary_of

COLUMNS = ["Figure, predicted of printed", "Exact", "Median, %", "9 in 10, %", "Worst, %"]


def metrics(shown: list[Comparison], summary: Summary) -> None:
    predicted = [each.receipt for each in shown if each.counts]
    models = len({receipt.model or receipt.shape for receipt in predicted})
    versions = len({(receipt.engine, receipt.version) for receipt in predicted if receipt.version})
    with st.grid(4, min_column_width=128):
        _metric("Median error", words.per_cent(summary.median), f"{summary.predicted:,} figures")
        _metric("90th percentile", words.per_cent(summary.ninetieth), "absolute")
        worst = summary.worst
        _metric("Worst", words.signed(worst.error if worst else None), worst.figure.kind if worst else "none")
        _metric("Models", f"{models:,}", f"{versions:,} engine versions")


def _metric(label: str, value: str, chip: str) -> None:
    st.metric(label, value, delta=chip, delta_color="off", delta_arrow="off")


def pictures(shown: list[Comparison], summary: Summary) -> None:
    predicted = [each for each in shown if each.counts]
    counts = {kind: sum(each.figure.kind == kind for each in predicted) for kind in KINDS}
    with st.container(gap="xxsmall"):
        draw_legend({kind: count for kind, count in counts.items() if count})
        with st.grid(2, min_column_width=370, gap=("small", "large")):
            st.plotly_chart(
                accuracy_scatter.scatter(predicted, summary.worst),
                key="accuracy_scatter",
                config=CONFIG,
                alt=accuracy_scatter.alternative_text(predicted, summary.worst),
            )
            st.plotly_chart(
                accuracy_histogram.histogram(predicted),
                key="accuracy_histogram",
                config=CONFIG,
                alt=accuracy_histogram.alternative_text(predicted),
            )


def kinds(shown: list[Comparison]) -> None:
    st.header("By kind of figure", anchor=False)
    each = [(kind, [one for one in shown if one.figure.kind == kind]) for kind in KINDS]
    rows = words.kind_rows([(kind, summary_of(found)) for kind, found in each if found])
    plain_table.draw(COLUMNS, rows, numbers=(1, 2, 3, 4))
    st.caption(
        "Exact: within the rounding of what was printed. 9 in 10: the error that nine of ten figures do not "
        "exceed. Tokens, concurrency, sizes and weights follow from rules; available KV and compute buffers also hold "
        "terms that are fitted to such logs. " + words.left_out(VLLM_CHECKED)
    )


def tables(shown: list[Comparison], filters: Filters) -> None:
    st.header("Every predicted figure", anchor=False)
    accuracy_tables.draw_predicted(shown)
    st.header("What cannot be predicted", anchor=False)
    accuracy_tables.draw_unpredicted(shown, without_figures() if filters == Filters() else [])


enter("pages/accuracy.py")
comparisons = every_comparison()
head = st.container()
filters = accuracy_filters.draw(comparisons)
shown = [each for each in comparisons if filters.keep(each)]
summary = summary_of(shown)
with head:
    st.caption(words.how(summary, len({each.receipt.id for each in shown})))
    st.title(words.headline(summary), anchor=False)
    metrics(shown, summary)
if summary.predicted:
    pictures(shown, summary)
kinds(shown)
tables(shown, filters)
live_accuracy.draw()
