"""The scenario line and, at its right, the unit and what can be taken along."""

import json
from collections.abc import Sequence
from urllib.parse import urlencode

import streamlit as st

from components import compare_pins, wording
from components.format import UNITS
from components.scenario_state import Held, address_of, use_units
from components.solve import OWN_CONFIG, Outcome
from sizing.scenario import Scenario


def draw(
    held: Held, outcome: Outcome, *, line: str | None = None, pin: str = "Pin", icon: str = ":material/keep:"
) -> None:
    """`line` stands in for the scenario's own where a page shows several; `pin` and `icon` are the Pin button's."""
    line = line or _scenario_line(held, outcome)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(line, width="content")
        st.space("stretch")
        compare_pins.draw_button(held, answered=not outcome.fault, label=pin, icon=icon)
        st.menu_button(held.units, list(UNITS), key="units", type="tertiary", on_click=use_units, args=("units",))
        with st.popover("Share", icon=":material/ios_share:", type="tertiary"):
            _share(held)


def _scenario_line(held: Held, outcome: Outcome) -> str:
    if not (outcome.report and outcome.spec):
        return str(held.values["model"])
    return wording.scenario_line(held, asked(held, outcome.report.scenario, outcome.set_aside), outcome.spec)


def asked(held: Held, scenario: Scenario, set_aside: Sequence[str]) -> Scenario:
    """The scenario as the reader set it, sizes of groups that cannot be included."""
    sizes = {name: held.values[name] for name in set_aside if isinstance(held.values.get(name), int)}
    return scenario.model_copy(update=sizes)


def _share(held: Held) -> None:
    st.caption("A link to this scenario")
    address = address_of(held)
    st.code(f"{(st.context.url or '').partition('?')[0]}?{urlencode(address)}", language=None, wrap_lines=True)
    if held.values["model"] == OWN_CONFIG and "config" not in address:
        st.caption("Your config.json is too long for a link. Who opens it has to paste the file again.")
    given = {name: value for name, value in held.values.items() if value is not None}
    st.download_button(
        "Scenario (JSON)",
        json.dumps(given, indent=2),
        "scenario.json",
        "application/json",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )
