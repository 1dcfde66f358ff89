"""What Compare shows: the figure of all rows, the differences from one of them, the waterfall between two."""

from collections.abc import Sequence

import streamlit as st

from components import compare_figure, compare_table, compare_waterfall, legend
from components.compare_rows import Row, chosen
from components.compare_wording import called
from components.export_tables import draw as draw_downloads
from components.form import seeded
from components.format import Unit
from components.memory_bar import CONFIG as NO_MODE_BAR
from components.scenario_state import HELD, WIDGET, Held, moved
from sizing.comparison import waterfall


def figure(rows: Sequence[Row], unit: Unit) -> None:
    with st.container(gap="xxsmall"):
        st.plotly_chart(
            compare_figure.comparison_figure(rows, unit),
            key="comparison",
            config=compare_figure.CONFIG,
            alt=compare_figure.alternative_text(rows, unit),
        )
        legend.draw(f"{unit} per GPU", compare_figure.legend_of(rows, unit))


def differences(held: Held, rows: Sequence[Row]) -> None:
    """The baseline and the row it is compared with serve the table and the waterfall below it."""
    baseline, after = _chosen(held, rows)
    st.header(f"Differences from {called(baseline.key)}, {held.units} per GPU", anchor=False)
    with st.grid(2, min_column_width=250):
        choose(rows, "baseline", "Baseline", baseline)
        choose(rows, "against", "Waterfall to", after)
    compare_table.draw(*compare_table.difference_rows(rows, baseline, held.units))
    draw_downloads(compare_table.full_table(rows))


def steps(held: Held, rows: Sequence[Row]) -> None:
    """From the baseline to another row, where both have an answer."""
    before, after = _chosen(held, rows)
    what = "room" if all(row.bar and row.bar.budget for row in (before, after)) else "need"
    st.header(f"From {called(before.key)} to {called(after.key)}: what changes the {what}", anchor=False)
    if before.planned is None or after.planned is None:
        st.caption("One of the two cannot be, so there is nothing to compare.")
        return
    between, names = waterfall(before.planned, after.planned), (before.key, after.key)
    st.plotly_chart(
        compare_waterfall.waterfall_figure(between, names, held.units),
        key="waterfall",
        config=NO_MODE_BAR,
        alt=compare_waterfall.alternative_text(between, names, held.units),
    )


def _chosen(held: Held, rows: Sequence[Row]) -> tuple[Row, Row]:
    return chosen(held.view, rows, "baseline", 0), chosen(held.view, rows, "against", len(rows) - 1)


def choose(rows: Sequence[Row], name: str, label: str, row: Row) -> None:
    key = WIDGET + name
    labels = {each.key: f"{each.key}  {each.label}" for each in rows}
    if st.session_state.get(key) not in labels:
        st.session_state.pop(key, None)
    seeded(name, row.key)
    st.selectbox(label, list(labels), key=key, format_func=lambda each: labels[each], on_change=_take, args=(name, key))


def _take(name: str, key: str) -> None:
    held: Held = st.session_state[HELD]
    held.view[name] = st.session_state[key]
    moved()
