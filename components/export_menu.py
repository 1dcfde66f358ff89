"""What the Share menu holds: the link, the report, the file, the command line, and opening a saved file."""

from collections.abc import Callable, Sequence
from datetime import date
from urllib.parse import urlencode

import streamlit as st

from components.command import command
from components.compare_prices import read_prices
from components.compare_rows import Row
from components.export_file import FileFault, from_file, to_file
from components.export_report import Frame, comparison_report, scenario_report
from components.pins import link_text
from components.plain_text import literal
from components.scenario_state import HELD, Held, address_of, forget_controls, moved
from components.solve import OWN_CONFIG, Outcome
from components.start_command import start_command, start_notes

OPENED = "open_file"
TOLD = "told_of_file"
SHOWN_LINK = 700  # characters that are shown whole
LONG_LINK = 4_000  # characters; from here on some chats and mail programs cut


def draw(held: Held, outcome: Outcome, rows: Sequence[Row]) -> None:
    """`rows` are those of a comparison; without them the report is the scenario's."""
    link = link_to(held)
    _link(link)
    for sentence in left_out(held, link):
        st.caption(sentence)
    _downloads(held, outcome, rows, link)
    st.caption("The form's scenario on a command line")
    st.code(command(held.values), language=None, wrap_lines=True)
    _start(outcome)
    st.file_uploader("Open a saved file", type=["json"], key=OPENED, on_change=open_file, max_upload_size=2)


def _start(outcome: Outcome) -> None:
    """The engine's own command line, where it has one."""
    if outcome.planned and outcome.asked and not outcome.fault:
        start = start_command(outcome.asked, outcome.planned)
        if start:
            st.caption("What starts the engine with it")
            st.code(start, language=None, wrap_lines=True)
            for note in start_notes(outcome.asked, outcome.planned):
                st.caption(note)


def _link(link: str) -> None:
    """A long link scrolls in a field, where a keyboard reaches all of it."""
    label = "A link to this page as it is"
    if len(link) > SHOWN_LINK:
        st.text_area(label, link, height=110)
    else:
        st.caption(label)
        st.code(link, language=None, wrap_lines=True)


def link_to(held: Held) -> str:
    return f"{(st.context.url or '').partition('?')[0]}?{urlencode(address_of(held))}"


def left_out(held: Held, link: str) -> list[str]:
    """What the link does not hold, and what may happen to it."""
    said = []
    if held.values["model"] == OWN_CONFIG and held.own_config and "config" not in address_of(held):
        said.append("Your config.json is too long for a link. The file below holds it.")
    if link_text(held.pins) is None:
        said.append(f"Your {len(held.pins)} pins are too long for a link. The file below holds them.")
    if len(link) > LONG_LINK:
        said.append("Some programs cut links as long as this one. The file below holds the same.")
    return said


def _downloads(held: Held, outcome: Outcome, rows: Sequence[Row], link: str) -> None:
    """Made when they are clicked."""
    today = date.today()
    frame = Frame(link, today, held.units)

    def report() -> str:
        if rows:
            return comparison_report(held, rows, read_prices(held.view.get("prices", ""))[0], frame)
        return scenario_report(held, outcome, frame)

    with st.container(horizontal=True, gap="small"):
        if rows or (outcome.report and not outcome.fault):
            name = f"kv-atlas-{'comparison' if rows else 'report'}-{today.isoformat()}.html"
            _download("Report (HTML)", report, name, "text/html")
        saved = to_file(held, today)
        _download("Everything (JSON)", lambda: saved, f"kv-atlas-{today.isoformat()}.json", "application/json")


def _download(label: str, made: Callable[[], str], name: str, mime: str) -> None:
    st.download_button(
        label,
        made,
        name,
        mime,
        key=f"take_{name.rpartition('.')[2]}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )


def open_file() -> None:
    """Callback of the uploader: the file's state replaces the visit's. One that cannot be opened changes nothing."""
    file, held = st.session_state[OPENED], st.session_state[HELD]
    if file is None:
        return
    try:
        opened = from_file(file.getvalue(), held.page)
    except FileFault as fault:
        st.session_state[TOLD] = (str(fault),)
    else:
        st.session_state[TOLD] = opened.complaints
        st.session_state[HELD] = opened
        forget_controls()
    moved()


def draw_told() -> None:
    """Once, what could not be read of a file that was just opened."""
    for sentence in st.session_state.pop(TOLD, ()):
        st.caption(f":orange[:material/error:] {literal(sentence)}")
