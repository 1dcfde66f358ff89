"""The formula lines on the page: each factor over its label, wrapping on a phone."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from components.format import both_units
from components.formula import Factor, Line

ROW = (
    "display:flex;flex-wrap:wrap;gap:4px 8px;align-items:flex-start;font-variant-numeric:tabular-nums;margin:2px 0 14px"
)
FACTOR = "display:inline-flex;flex-direction:column;align-items:center"
LABEL = "font-size:11px;line-height:1.3;opacity:.75"
NAME = "font-size:12px;opacity:.75"


def draw(lines: Sequence[Line]) -> None:
    st.html("".join(_line(line) for line in lines))


def _line(line: Line) -> str:
    factors = "<span>×</span>".join(_factor(factor) for factor in line.factors)
    result = f'<span>=</span><b style="font-weight:600">{both_units(line.result)}</b>'
    return f'<div style="{NAME}">{escape(line.name)}</div><div style="{ROW}">{factors}{result}</div>'


def _factor(factor: Factor) -> str:
    return (
        f'<span style="{FACTOR}"><span>{factor.value:,}</span>'
        f'<span style="{LABEL}">{escape(factor.label)}</span></span>'
    )
