"""How each kind of figure is drawn: the colour of the term that it is about, and a shape of its own."""

from dataclasses import dataclass
from html import escape

import streamlit as st

from components import inks
from sizing.receipts.figures import Kind

LINE = "display:flex;flex-wrap:wrap;gap:2px 16px;font-size:12px;line-height:1.6;align-items:center"


@dataclass(frozen=True)
class Mark:
    """`symbol` is Plotly's, `glyph` the same in a legend; `hatch` tells bars of one colour apart."""

    colour: str
    symbol: str
    glyph: str
    hatch: str = ""


MARKS: dict[Kind, Mark] = {
    "KV tokens": Mark(inks.KV, "circle", "●"),
    "Max concurrency": Mark(inks.KV, "diamond-open", "◇", "/"),
    "Cache sizes": Mark(inks.KV, "square-open", "□", "."),
    "State": Mark(inks.STATE, "triangle-up", "▲"),
    "Weights": Mark(inks.WEIGHTS, "square", "■"),
    "Available KV": Mark(inks.KV, "x-thin-open", "✕", "x"),
    "Compute buffer": Mark(inks.ACTIVATIONS, "triangle-down", "▼"),
}


def draw_legend(counts: dict[Kind, int]) -> None:
    """One wrapping line: shape, kind and how many figures of it are predicted."""
    items = "".join(
        f'<span><span aria-hidden="true" style="color:{MARKS[kind].colour}">{MARKS[kind].glyph}</span> '
        f"{escape(kind)} <b style='font-weight:600'>{count:,}</b></span>"
        for kind, count in counts.items()
    )
    st.html(f'<div style="{LINE}">{items}</div>')
