"""What each overlay buys: requests of this length, tokens at this load, against the scenario's own."""

from collections.abc import Iterator
from html import escape

import streamlit as st

from components import inks
from components.format import counted, multiple, short_tokens
from components.plain_table import CELL, HEAD, TABLE
from components.tradeoff_map import DASHES, reach
from components.tradeoff_survey import Line, Survey

SWATCH = "display:inline-block;width:36px;vertical-align:middle;margin-right:8px"
OWN = f"height:3px;background:{inks.KV}"
STROKES = {
    "dash": (7, 4),
    "dot": (2, 3),
    "dashdot": (8, 3, 2, 3),
    "longdash": (14, 5),
    "longdashdot": (14, 3, 2, 3),
    "2px,6px,10px,6px": (2, 5, 9, 5),
}


def draw(survey: Survey) -> None:
    """Nothing is coloured but the scenario's own line, as on the map."""
    head = "".join(_head(text, right) for text, right in headers(survey))
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in _rows(survey))
    st.html(f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')


def headers(survey: Survey) -> list[tuple[str, bool]]:
    return [
        ("Drawn as", False),
        (f"Max requests of {short_tokens(survey.tokens)}", True),
        (f"Max tokens at {counted(survey.batch, 'request')}", True),
        ("Against yours", True),
    ]


def _head(text: str, right: bool) -> str:
    align = "right" if right else "left"
    style = f"{CELL};font-weight:400;text-align:{align}"
    return f'<th scope="col" style="{style}"><span style="{HEAD}">{escape(text)}</span></th>'


def _rows(survey: Survey) -> Iterator[list[str]]:
    yield [_name(survey.own, ""), *map(_number, figures(survey, survey.own))]
    for line, dash in zip(survey.lines[1:], DASHES, strict=False):
        fault = line.outcome.fault
        if fault:
            yield [_name(line, dash), f'<td colspan="3" style="{CELL};opacity:.75">{escape(fault.message)}</td>']
        else:
            yield [_name(line, dash), *map(_number, figures(survey, line))]


def figures(survey: Survey, line: Line) -> tuple[str, str, str]:
    """Most requests, most tokens, and the first as a multiple of the scenario's own."""
    (most, longest), (own, _) = reach(line), reach(survey.own)
    if longest is None:
        return "–", "–", "–"
    requests = "no limit" if most is None else f"{most:,}"
    against = multiple(most, own) if most is not None and own and line is not survey.own else "–"
    return requests, f"{longest:,}", against


def _number(text: str) -> str:
    return f'<td style="{CELL};text-align:right">{text}</td>'


def _name(line: Line, dash: str) -> str:
    """A piece of the line as it is drawn, and the variant's name."""
    look = f"height:2px;background:{_dashed(STROKES[dash])}" if dash else OWN
    name = escape(line.name)
    piece = f'<i style="{SWATCH};{look}"></i>'
    return f'<td style="{CELL};white-space:nowrap">{piece}{name if dash else f"<b>{name}</b>"}</td>'


def _dashed(lengths: tuple[int, ...]) -> str:
    """Strokes and gaps in turn, in the ink of the text."""
    stops, start = [], 0
    for index, length in enumerate(lengths):
        stops.append(f"{'transparent' if index % 2 else 'currentColor'} {start}px {start + length}px")
        start += length
    return f"repeating-linear-gradient(90deg,{','.join(stops)})"
