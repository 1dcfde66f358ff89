"""The filters of the Accuracy page, kept in the address."""

from dataclasses import replace

import streamlit as st

from components.accuracy_data import ENGINES, Filters, options
from sizing.receipts.comparing import Comparison

LABELS = {"engine": "Engine", "family": "Model family", "version": "Version", "figure": "Figure"}
PREFIX = "accuracy_"


def draw(comparisons: tuple[Comparison, ...]) -> Filters:
    """A value in the address that no receipt has is named and left out."""
    filters, complaints = Filters(), []
    with st.grid(4, min_column_width=150):
        for name, label in LABELS.items():
            known = options(comparisons, filters)[name]
            complaints += _follow_address(name, known)
            chosen = st.selectbox(
                label,
                ["", *known],
                key=PREFIX + name,
                format_func=lambda value: ENGINES.get(value, value) or "All",
            )
            filters = replace(filters, **{name: chosen})
            _publish(name, chosen)
    for complaint in complaints:
        st.caption(f":orange[:material/link_off:] {complaint}")
    return filters


def _follow_address(name: str, known: list[str]) -> list[str]:
    """The address wins when it has changed by other means than this control: a link, or going back."""
    state, written = PREFIX + name, f"{PREFIX}{name}_written"
    address = st.query_params.get(name, "")
    if st.session_state.get(written) != address:
        st.session_state[state] = address
    wanted = st.session_state.get(state, "")
    if wanted in ("", *known):
        return []
    st.session_state[state] = ""
    if wanted != address:
        return []
    return [f'In the link, {name} is "{address[:40]}", which no receipt here has; all are shown instead.']


def _publish(name: str, chosen: str) -> None:
    st.session_state[f"{PREFIX}{name}_written"] = chosen
    if chosen:
        st.query_params[name] = chosen
    elif name in st.query_params:
        del st.query_params[name]
