"""Callbacks that pin, rename, remove and take up scenarios."""

from collections.abc import Callable

import streamlit as st

from components.pins import LONGEST_NAME, MOST_PINS, Pin, letter
from components.scenario_state import HELD, Held, forget_controls, moved

NOW = "Now"  # the scenario of the form where that is not pinned, as a row of the comparison


def pin_of(held: Held) -> Pin:
    return Pin(dict(held.values), "", held.accelerator_name, held.own_config)


def is_pinned(held: Held) -> bool:
    return pin_of(held).content() in [pin.content() for pin in held.pins]


def draw_button(held: Held, *, answered: bool, label: str, icon: str) -> None:
    """Pins the scenario of the form; only one that has an answer and is not pinned yet."""
    pinned, full = is_pinned(held), len(held.pins) >= MOST_PINS
    st.button(
        "Pinned" if pinned else label,
        icon=":material/check:" if pinned else icon,
        type="tertiary",
        key="pin",
        disabled=pinned or full or not answered,
        help=f"{MOST_PINS} pins are the most." if full else "Keeps this scenario for Compare.",
        on_click=add,
    )


def add() -> None:
    held: Held = st.session_state[HELD]
    if not is_pinned(held) and len(held.pins) < MOST_PINS:
        held.pins = (*held.pins, pin_of(held))
    moved()


def remove(index: int) -> None:
    """Rows that were chosen by their letter stay chosen."""
    held: Held = st.session_state[HELD]
    held.pins = held.pins[:index] + held.pins[index + 1 :]
    _follow(held, lambda row: None if row == index else row - (row > index))
    moved()


def remove_all() -> None:
    held: Held = st.session_state[HELD]
    held.pins = ()
    _follow(held, lambda row: None)
    moved()


def rename(index: int, key: str) -> None:
    held: Held = st.session_state[HELD]
    pin = held.pins[index]
    name = str(st.session_state[key]).strip()[:LONGEST_NAME]
    named = Pin(pin.values, name, pin.accelerator_name, pin.config_text)
    held.pins = (*held.pins[:index], named, *held.pins[index + 1 :])
    moved()


def take_up(index: int) -> None:
    """The form gets the pinned scenario."""
    held: Held = st.session_state[HELD]
    pin = held.pins[index]
    held.values, held.accelerator_name = dict(pin.values), pin.accelerator_name
    held.config_text = pin.config_text or held.config_text
    forget_controls()
    moved()


def _follow(held: Held, new_row: Callable[[int], int | None]) -> None:
    """Bring the letters of `baseline` and `against` to where their rows have gone."""
    letters = [letter(index) for index in range(MOST_PINS)]
    for name in ("baseline", "against"):
        chosen = held.view.get(name)
        if chosen in letters:
            row = new_row(letters.index(chosen))
            held.view.pop(name)
            if row is not None:
                held.view[name] = letter(row)
