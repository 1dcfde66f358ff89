"""A legend as one wrapping line: swatch, name and value. Plotly's own collides with the bar's labels on a phone."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import streamlit as st

from components import inks
from components.format import Unit, number_in
from components.segments import Bar, Segment, Texture

LINE = (
    "display:flex;flex-wrap:wrap;gap:2px 16px;font-size:12px;line-height:1.6;font-variant-numeric:tabular-nums;"
    "align-items:center"
)

# Stripes of the term's colour on a paler ground of it: angle, width of a stripe, of a stripe and its gap, opacity.
STRIPES: dict[Texture, tuple[int, int, int, float]] = {
    "draft": (-45, 2, 4, 0.5),
    "encoder": (45, 2, 4, 0.5),
    "aside": (45, 2, 4, 0.35),
    "copies": (90, 1, 3, 0.6),
}


@dataclass(frozen=True)
class Item:
    """`swatch` is a CSS background; `height` its share of the swatch's square, measured from the bottom."""

    swatch: str
    name: str
    value: str
    height: float = 1.0
    outline: str = ""


def draw(lead: str, items: Iterable[Item]) -> None:
    """`lead` names the unit of the values."""
    first = f'<span style="opacity:.75">{escape(lead)}</span>' if lead else ""
    st.html(f'<div style="{LINE}">{first}{"".join(_item(item) for item in items)}</div>')


def _item(item: Item) -> str:
    size = max(2, round(10 * item.height))
    outline = f"outline:1px solid {item.outline};outline-offset:-1px;" if item.outline else ""
    swatch = (
        f'<i style="display:inline-block;width:10px;height:{size}px;border-radius:2px;{outline}'
        f'background:{item.swatch}"></i>'
    )
    box = f'<span style="display:inline-flex;width:10px;height:10px;align-items:flex-end">{swatch}</span>'
    text = f"<span>{escape(item.name)} <b style='font-weight:600'>{escape(item.value)}</b></span>"
    return f'<span style="display:inline-flex;gap:6px;align-items:center">{box}{text}</span>'


def of_bar(bar: Bar, unit: Unit) -> list[Item]:
    items = [_of_segment(segment, unit) for segment in bar.segments]
    if bar.other:
        swatch = inks.faded(inks.NEUTRAL, 0.3)
        items.append(Item(swatch, "Other processes", number_in(bar.other, unit), outline=inks.NEUTRAL))
    return items


def _of_segment(segment: Segment, unit: Unit) -> Item:
    value = ("≈ " if segment.estimate else "") + number_in(segment.size, unit)
    colour = segment.colour
    if segment.texture == "unused":
        return Item(
            f"repeating-linear-gradient(-45deg,{colour} 0 1px,transparent 1px 3px)",
            segment.name,
            value,
            1,
            colour,
        )
    if segment.texture in STRIPES:
        angle, line, step, alpha = STRIPES[segment.texture]
        ground = inks.faded(colour, alpha)
        stripes = f"repeating-linear-gradient({angle}deg,{colour} 0 {line}px,{ground} {line}px {step}px)"
        return Item(stripes, segment.name, value)
    if segment.texture == "short":
        crossed = (
            f"repeating-linear-gradient(45deg,{colour} 0 1px,transparent 1px 3px),"
            f"repeating-linear-gradient(-45deg,{colour} 0 1px,transparent 1px 3px)"
        )
        return Item(crossed, segment.name, value, 1, inks.SHORT)
    return Item(colour, segment.name, value)
