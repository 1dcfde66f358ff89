"""The scenario line and, at its right, the unit and what can be taken along."""

from collections.abc import Sequence

import streamlit as st

from components import compare_pins, export_menu, wording
from components.compare_rows import Row
from components.format import UNITS
from components.plain_text import literal
from components.scenario_state import Held, use_units
from components.setting_words import setting_words
from components.solve import Outcome
from sizing.scenario import Scenario


def draw(
    held: Held,
    outcome: Outcome,
    *,
    line: str | None = None,
    rows: Sequence[Row] = (),
    pin: str = "Pin",
    icon: str = ":material/keep:",
) -> None:
    """`line` and `rows` are those of a page that shows several scenarios; `pin` and `icon` are the Pin button's."""
    line = line or _scenario_line(held, outcome)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            st.caption(literal(line))
        # One group, so that a long line moves all of the buttons under it and not the last alone
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
            compare_pins.draw_button(held, answered=not outcome.fault, label=pin, icon=icon)
            st.menu_button(held.units, list(UNITS), key="units", type="tertiary", on_click=use_units, args=("units",))
            menu = st.popover("Share", icon=":material/ios_share:", type="tertiary", key="share", on_change="rerun")
        if menu.open:
            with menu:
                export_menu.draw(held, outcome, rows)
    export_menu.draw_told()


def _scenario_line(held: Held, outcome: Outcome) -> str:
    if not (outcome.report and outcome.spec):
        return str(held.values["model"])
    scenario = asked(held, outcome.report.scenario, outcome.set_aside)
    return wording.scenario_line(held, scenario, outcome.spec, setting_words(outcome.asked).values())


def asked(held: Held, scenario: Scenario, set_aside: Sequence[str]) -> Scenario:
    """The scenario as the reader set it, sizes of groups that cannot be included."""
    sizes = {name: held.values[name] for name in set_aside if isinstance(held.values.get(name), int)}
    return scenario.model_copy(update=sizes)
