"""How a page about one scenario begins: the form, the line above the answer, and what could not be understood."""

from collections.abc import Iterable

import streamlit as st

from components import scenario_form
from components.frame import enter
from components.plain_text import literal
from components.scenario_state import Held, open_state, publish
from components.share import draw as draw_share
from components.solve import Outcome, solve
from components.trouble import draw as draw_trouble


def open_scenario(page: str) -> tuple[Held, Outcome]:
    """The scenario of the form with its answer. A fault has been told, at its control too."""
    enter(f"pages/{page}.py")
    held = open_state(page)
    slots = scenario_form.draw(held)
    publish(held)
    outcome = solve(held.values, held.config_text)
    draw_share(held, outcome)
    complain(held.complaints)
    if outcome.fault:
        draw_trouble(held, outcome, slots)
    return held, outcome


def complain(sentences: Iterable[str]) -> None:
    """What was not understood of a link."""
    for sentence in sentences:
        st.caption(f":orange[:material/link_off:] {literal(sentence)}")
