"""The Command tab: how to start the engine with this scenario, and how to ask for the same answer."""

import streamlit as st

from components.command import command
from components.scenario_state import Held
from components.solve import OWN_CONFIG, Outcome
from components.start_command import start_command, start_notes
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan


def draw(held: Held, outcome: Outcome, planned: EnginePlan) -> None:
    assert outcome.asked is not None
    start = start_command(outcome.asked, planned)
    if start is not None:
        st.caption(f"Starts {ENGINES[outcome.asked.engine].label} {planned.scenario.engine_version} with this scenario")
        st.code(start, language=None, wrap_lines=True)
        for note in start_notes(outcome.asked, planned):
            st.caption(note)
    st.caption("Gives this page's answer as JSON")
    st.code(command(held.values), language=None, wrap_lines=True)
    if held.values["model"] == OWN_CONFIG:
        st.caption("Save your config as config.json beside the command.")
