"""The scenario line and, at its right, the unit and what can be taken along."""

import json
from urllib.parse import urlencode

import streamlit as st

from components import wording
from components.format import UNITS
from components.scenario_state import Held, address_of, use_units
from components.solve import OWN_CONFIG, Outcome


def draw(held: Held, outcome: Outcome) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        line = wording.scenario_line(held, outcome.report.scenario) if outcome.report else str(held.values["model"])
        with st.container(width="stretch"):
            st.caption(line)
        st.menu_button(held.units, list(UNITS), key="units", type="tertiary", on_click=use_units, args=("units",))
        with st.popover("Share", icon=":material/ios_share:", type="tertiary"):
            _share(held)


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
