"""A table of text with its numbers aligned to the right, as inline HTML that takes the theme's ink."""

from collections.abc import Sequence
from html import escape

import streamlit as st

TABLE = "width:100%;border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums"
HEAD = "font-weight:400;opacity:.75"
CELL = "padding:4px 12px 4px 6px;border-bottom:1px solid rgba(124,133,148,.28);vertical-align:top"


def draw(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> None:
    """`numbers` are the columns that are aligned to the right."""
    head = "".join(_cell("th", text, index in numbers) for index, text in enumerate(headers))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, index in numbers) for index, text in enumerate(row))}</tr>" for row in rows
    )
    table = f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f"<div {scrolling('Table by ' + headers[0].lower())}>{table}</div>")


def scrolling(name: str) -> str:
    """Attributes of an element that scrolls sideways where it is too narrow, by keyboard too."""
    return f'style="overflow-x:auto" tabindex="0" role="region" aria-label="{escape(name)}"'


def _cell(tag: str, text: str, right: bool) -> str:
    align = "right" if right else "left"
    if tag == "th":
        text = f'<span style="{HEAD}">{escape(text)}</span>'
        return f'<th scope="col" style="{CELL};font-weight:400;text-align:{align}">{text}</th>'
    return f'<td style="{CELL};text-align:{align}">{escape(text)}</td>'
