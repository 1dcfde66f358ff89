"""The tabs over every accelerator, precision and engine. Prices can be typed; only the open tab is computed."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from components.compare_options import (
    PRICE,
    Question,
    accelerator_frame,
    accelerator_options,
    accelerator_table,
    engine_name,
    engine_options,
    options_table,
    plain_frame,
    precision_name,
    precision_options,
    question_of,
    room_column,
)
from components.compare_prices import read_prices, rent_of, write_prices
from components.export_tables import draw as draw_downloads
from components.format import Unit
from components.scenario_state import HELD, Held, moved
from components.solve import Outcome
from sizing.comparison import Option

TABLE_HEIGHT = 430
SHOWN_WHOLE = 12  # rows up to which a table needs no scrolling
EDITOR = "accelerators_editor"


def draw(held: Held, outcome: Outcome, own_prices: Mapping[str, float]) -> None:
    """Three tabs, of which only the open one is computed."""
    assert outcome.report is not None
    question = question_of(held, outcome)
    tabs = st.tabs(["All accelerators", "All precisions", "All engines"], key="options", on_change="rerun")
    for tab, show in zip(tabs, (_accelerators, _precisions, _engines), strict=True):
        if tab.open:
            with tab:
                show(question, held, own_prices)


def _accelerators(question: Question, held: Held, own_prices: Mapping[str, float]) -> None:
    options = accelerator_options(question)
    priced = sum(rent_of(option.key, {}) is not None for option in options)
    st.caption(
        "Room is what a GPU's pool has left under this load. GPUs needed are counted with tensor parallel 1, 2 … 64. "
        f"{priced} of {len(options)} have a list price; any price can be typed in its cell."
    )
    st.data_editor(
        accelerator_frame(options, held.units, own_prices),
        key=f"{EDITOR}_{st.session_state.get(EDITOR, 0)}",
        hide_index=True,
        height=TABLE_HEIGHT,
        placeholder="–",
        disabled=[name for name in _accelerator_columns(held.units) if name != PRICE],
        column_config=_accelerator_columns(held.units),
        on_change=_take_prices,
        args=([option.key for option in options],),
    )
    draw_downloads(accelerator_table(options, own_prices))


def _accelerator_columns(unit: Unit) -> dict[str, Any]:
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    return {
        "Accelerator": text(width=215, pinned=True),
        "Verdict": text(width="small"),
        room_column(unit): number(format="%.2f", width="small"),
        "Max requests": number(format="localized"),
        "Max tokens": number(format="localized"),
        "GPUs needed": number(format="%d"),
        PRICE: number(format="%.2f", min_value=0.0, max_value=999_999.0, step=0.01),
        "$ per hour": number(format="%.2f"),
        "Dated": text(width=90),
        "Price from": text(width="large"),
    }


def _take_prices(keys: Sequence[str]) -> None:
    """A typed price is kept in the address; an emptied cell goes back to the list price."""
    held: Held = st.session_state[HELD]
    version = st.session_state.get(EDITOR, 0)
    own = read_prices(held.view.get("prices", ""))[0]
    for row, cells in st.session_state[f"{EDITOR}_{version}"]["edited_rows"].items():
        price = cells.get(PRICE)
        if price:
            own[keys[int(row)]] = round(float(price), 4)
        else:
            own.pop(keys[int(row)], None)
            st.session_state[EDITOR] = version + 1
    held.view.pop("prices", None)
    if own:
        held.view["prices"] = write_prices(own)
    moved()


def _precisions(question: Question, held: Held, own_prices: Mapping[str, float]) -> None:
    options = precision_options(question)
    names = [precision_name(option.key) for option in options]
    st.caption("Every format of the weights with the cache as it is, then every format of the cache.")
    _plain_options("Format", names, options, held.units)
    draw_downloads(options_table("precisions", "format", names, options))


def _engines(question: Question, held: Held, own_prices: Mapping[str, float]) -> None:
    options = engine_options(question)
    names = [engine_name(option) for option in options]
    st.caption("Each engine in its newest version that is known here, with the same model, formats and load.")
    _plain_options("Engine", names, options, held.units)
    draw_downloads(options_table("engines", "engine", names, options))


def _plain_options(what: str, names: Sequence[str], options: Sequence[Option], unit: Unit) -> None:
    number = st.column_config.NumberColumn
    st.dataframe(
        plain_frame(what, names, options, unit),
        hide_index=True,
        placeholder="–",
        height="content" if len(options) <= SHOWN_WHOLE else TABLE_HEIGHT,
        column_config={
            what: st.column_config.TextColumn(pinned=True),
            room_column(unit): number(format="%.2f"),
            "Max requests": number(format="localized"),
            "Max tokens": number(format="localized"),
            f"Weights, {unit}": number(format="%.2f"),
            f"KV cache, {unit}": number(format="%.2f"),
        },
    )
