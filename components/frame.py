"""What every page stands in: the logo, the page list on top, and the way in through app.py.

Streamlit runs a file of pages/ without app.py when a deep link is the first visit after the process starts (until
st.navigation has run once). `enter` notices that and goes through app.py, keeping the page and its parameters.
"""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

LOGO = Path("static/logo.svg")
ICON = Path("static/icon.svg")
ENTERED = "entered"
WANTED = "wanted_page"
SIDEBAR_WIDTH = 296


def open_page(pages: Sequence[Page]) -> None:
    """Draw the page list and run the page that the address names."""
    page = st.navigation([*pages, *_other_names(pages)], position="top")
    st.session_state[ENTERED] = True
    wanted = st.session_state.pop(WANTED, None)
    if wanted is not None:
        st.switch_page(wanted, query_params=st.query_params.to_dict())
    st.set_page_config(
        page_title=f"{page.title} · KV Atlas",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state=SIDEBAR_WIDTH,
    )
    st.logo(LOGO.read_text(), size="large")
    page.run()


def enter(page: str) -> None:
    """First call of each page: without app.py around it, start over from there."""
    if ENTERED not in st.session_state:
        st.session_state[WANTED] = page
        st.switch_page("app.py", query_params=st.query_params.to_dict())


def _other_names(pages: Sequence[Page]) -> list[Page]:
    """The front page answers at / alone; its own name leads there too."""
    front = pages[0]

    def go() -> None:
        st.switch_page(front, query_params=st.query_params.to_dict())

    return [st.Page(go, title=front.title, url_path=front.title.lower(), visibility="hidden")]
