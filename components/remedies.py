"""The remedies of Plan: a button for each single change, what it gains, and how many requests then fit."""

from collections.abc import Sequence

import streamlit as st

from components.format import BYTES_IN, Unit, short_tokens, three_figures
from components.scenario_state import apply
from sizing.report import Remedy, Report

SHOWN = 5
GAIN_WIDTH, FIT_WIDTH = 60, 66


def draw(found: Sequence[Remedy], report: Report, unit: Unit) -> None:
    short = report.verdict.state == "short"
    st.header("Smallest changes that make it fit" if short else "Room for more", anchor=False)
    if not found:
        st.caption(_nothing(report))
        return
    with st.container(gap=None):
        _row_of_titles(report, unit)
        for index, remedy in enumerate(found[:SHOWN]):
            _row(index, remedy, short, unit)


def _row_of_titles(report: Report, unit: Unit) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall", wrap=False):
        st.caption("Click to apply", width="content", wrap=False)
        st.space("stretch")
        st.caption(f"Gain, {unit}", width=GAIN_WIDTH, text_alignment="right", wrap=False)
        length = short_tokens(report.scenario.context_length or 0)
        st.caption(f"Fit at {length}", width=FIT_WIDTH, text_alignment="right", wrap=False)


def _row(index: int, remedy: Remedy, short: bool, unit: Unit) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall", wrap=False):
        with st.container(width="stretch"):  # gives way on a phone, so that the label wraps and not the numbers
            st.button(
                remedy.change,
                key=f"remedy_{index}",
                on_click=apply,
                args=(remedy.values,),
                type="tertiary",
                icon=":material/arrow_forward:",
                wrap=True,
            )
        st.markdown(f":small[{gain(remedy, unit)}]", width=GAIN_WIDTH, text_alignment="right")
        st.markdown(f":small[{fit(remedy, short)}]", width=FIT_WIDTH, text_alignment="right")


def gain(remedy: Remedy, unit: Unit) -> str:
    sign = "+" if remedy.gain_bytes >= 0 else ""
    return sign + three_figures(remedy.gain_bytes / BYTES_IN[unit])


def fit(remedy: Remedy, short: bool) -> str:
    """The check tells a change that makes the load fit."""
    most = "any" if remedy.max_batch is None else f"{remedy.max_batch:,}"
    return f":green[:material/check:] {most}" if short and remedy.fits else most


def _nothing(report: Report) -> str:
    if report.verdict.state is None:
        return "What to change can be said once a memory size is known."
    if report.capacity.max_batch_at_context is None:
        return "Memory does not limit how many requests fit."
    return "No single change helps."
