"""Names of the pins, and what can be done with each."""

import streamlit as st

from components import compare_pins
from components.compare_pins import NOW
from components.compare_rows import Row
from components.pins import LONGEST_NAME
from components.scenario_state import WIDGET, Held


def draw(held: Held, rows: list[Row]) -> None:
    """While it is closed its controls are not drawn."""
    opened = st.expander("Names and pins", icon=":material/edit:", key="edit_pins", on_change="rerun")
    if not opened.open:
        return
    with opened:
        for index, row in enumerate(row for row in rows if row.key != NOW):
            _pin(index, row)
        st.button("Remove all pins", icon=":material/delete:", type="tertiary", on_click=compare_pins.remove_all)


def _pin(index: int, row: Row) -> None:
    key = f"{WIDGET}pin_name_{index}"
    st.session_state[key] = row.pin.name
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text_input(
            f"Name of {row.key}",
            key=key,
            max_chars=LONGEST_NAME,
            placeholder=f"{row.key}  {row.label}",
            label_visibility="collapsed",
            on_change=compare_pins.rename,
            args=(index, key),
        )
        _button("Use", "open_in_new", index, compare_pins.take_up, f"Sets the form to {row.key}.")
        _button("Remove", "close", index, compare_pins.remove, f"Removes {row.key}.")


def _button(label: str, icon: str, index: int, callback: object, help_: str) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        type="tertiary",
        key=f"{label.lower()}_pin_{index}",
        on_click=callback,  # type: ignore[arg-type]
        args=(index,),
        help=help_,
    )
