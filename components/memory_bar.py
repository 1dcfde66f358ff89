"""The memory bar of one GPU: every term in its place, the budget line and the card's end."""

from collections.abc import Sequence
from typing import Any

from components import inks
from components.format import Unit, amount, number_in, share
from components.segments import Bar, Segment

HEIGHT = 118
ROW = 46
LABEL_ROOM = 26  # below the bars, for the label of the budget that all of them share
BAR_WIDTH, NAMED_BAR_WIDTH = 0.8, 0.56
GAP = 0.0022  # of the extent: a hairline between segments that works on both themes
LABEL_FROM = 0.075  # of the extent: narrower segments are named in the legend only
LETTER = 0.0185  # of the extent: a letter of a label on a phone
LABEL_ENDS_FROM, LABEL_STARTS_TO = 0.64, 0.36  # of the extent: the room of the line below the bar on a phone
OUTSIDE_ALPHA = 0.14
CONFIG = {"displayModeBar": False}
LONG_NAMES = {"Reserved, unused": "KV reserved, unused"}


def memory_bar(bars: Sequence[Bar], unit: Unit) -> dict[str, Any]:
    """The figure as a plain dict, a row for each bar. Amounts are in `unit` only for hovering; the axis is in bytes."""
    extent, rows = max(bar.extent for bar in bars), len(bars)
    traces = [trace for row, bar in enumerate(bars) for trace in _row(bar, rows - 1 - row, extent, unit)]
    alone = rows == 1
    names = _labels(bars[0], unit) if alone else _names(bars, unit)
    below = LABEL_ROOM if _alike(bars) else 0
    return {
        "data": traces,
        "layout": {
            "height": HEIGHT - LABEL_ROOM + below + ROW * (rows - 1),
            "margin": {"t": 40 if alone else 16, "b": below, "l": 0, "r": 0},
            "barmode": "overlay",
            "barcornerradius": 3,
            "showlegend": False,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {"visible": False, "fixedrange": True, "range": [0, extent * 1.002]},
            "yaxis": {"visible": False, "fixedrange": True, "range": [-0.5, rows - 0.5]},
            "shapes": _lines(bars),
            "annotations": [*names, *(_capacity_label(bars[0], unit) if _alike(bars) else [])],
        },
    }


def _row(bar: Bar, y: int, extent: int, unit: Unit) -> list[dict[str, Any]]:
    traces = [_trace(segment, bar, extent, unit) for segment in bar.segments]
    if bar.budget is not None and bar.card is not None and bar.card > bar.budget:
        traces.append(_outside(bar, unit))
    width = BAR_WIDTH if not bar.name else NAMED_BAR_WIDTH
    return [trace | {"y": [y], "width": width} for trace in traces]


def _names(bars: Sequence[Bar], unit: Unit) -> list[dict[str, Any]]:
    """Above each row at its left, with the sizes of GPUs that differ."""
    alike = _alike(bars)
    return [
        {
            "x": 0,
            "y": len(bars) - 1 - row + NAMED_BAR_WIDTH / 2,
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "text": bar.name if alike or not bar.card else f"{bar.name} · card {amount(bar.card, unit)}",
            "font": {"size": 12, "color": inks.INK},
        }
        for row, bar in enumerate(bars)
    ]


def _trace(segment: Segment, bar: Bar, extent: int, unit: Unit) -> dict[str, Any]:
    hairline = extent * GAP
    return {
        "type": "bar",
        "orientation": "h",
        "name": segment.name,
        "x": [max(segment.size - hairline, hairline)],
        "base": [segment.start],
        "marker": marker(segment),
        "hovertemplate": f"{_sizes(segment.size, bar, unit)}<extra>{segment.name}</extra>",
    }


def _sizes(size: int, bar: Bar, unit: Unit) -> str:
    other: Unit = "GB" if unit == "GiB" else "GiB"
    of_card = f" · {share(size, bar.card)} of the card" if bar.card else ""
    return f"{amount(size, unit)} · {amount(size, other)}{of_card}"


def marker(segment: Segment) -> dict[str, Any]:
    """Each colour in several textures. Pattern colours must be real ones."""
    if segment.texture in ("draft", "encoder"):
        return _hatched(segment.colour, 0.5, "/" if segment.texture == "draft" else "\\", segment.colour, 0)
    if segment.texture == "unused":
        return _hatched(segment.colour, 0.12, "/", segment.colour, 1)
    if segment.texture == "aside":
        return _hatched(segment.colour, 0.35, "\\", segment.colour, 1)
    if segment.texture == "copies":
        return _hatched(segment.colour, 0.6, "|", segment.colour, 0)
    if segment.texture == "short":
        return _hatched(segment.colour, 0.25, "x", inks.SHORT, 1.5)
    return {"color": segment.colour, "line": {"width": 0}}


def _hatched(colour: str, alpha: float, shape: str, outline: str, width: float) -> dict[str, Any]:
    return {
        "color": inks.faded(colour, alpha),
        "line": {"color": outline, "width": width},
        "pattern": {
            "shape": shape,
            "size": 7,
            "solidity": 0.2,
            "fgcolor": colour,
            "fgopacity": 1,
            "fillmode": "overlay",
        },
    }


def _outside(bar: Bar, unit: Unit) -> dict[str, Any]:
    """What the budget leaves alone, as far as no term reaches into it."""
    used = sum(segment.size for segment in bar.segments)
    start = max(bar.budget or 0, used)
    size = max(0, (bar.card or 0) - start)
    return {
        "type": "bar",
        "orientation": "h",
        "name": "Outside the budget",
        "x": [size],
        "base": [start],
        "marker": {"color": inks.faded(inks.NEUTRAL, OUTSIDE_ALPHA), "line": {"width": 0}},
        "hovertemplate": f"{_sizes(size, bar, unit)}<extra>Outside the budget</extra>",
    }


def _alike(bars: Sequence[Bar]) -> bool:
    """Whether all GPUs are of one size, so that they share a budget and its label."""
    return len({(bar.card, bar.budget) for bar in bars}) == 1


def _lines(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    """Through all rows where GPUs are of one size, else each in its row."""
    top = len(bars) - 1
    if _alike(bars):
        return _lines_of(bars[0], 0, top)
    return [line for row, bar in enumerate(bars) for line in _lines_of(bar, top - row, top - row)]


def _lines_of(bar: Bar, low: int, high: int) -> list[dict[str, Any]]:
    over = 0.52 if low != high or not bar.name else NAMED_BAR_WIDTH / 2  # not through the name above its row
    span = {"type": "line", "y0": low - over, "y1": high + over, "yref": "y"}
    styles = (
        (bar.card, {"color": inks.NEUTRAL, "width": 1.5, "dash": "dot"}),
        (bar.budget, {"color": inks.INK, "width": 2}),
    )
    return [span | {"x0": at, "x1": at, "line": style} for at, style in styles if at is not None]


def _labels(bar: Bar, unit: Unit) -> list[dict[str, Any]]:
    """Over the middles of wide segments, from left to right; moved aside for the one before, or left out for it."""
    labels, end = [], 0.0
    for segment in bar.segments:
        name, size = LONG_NAMES.get(segment.name, segment.name), amount(segment.size, unit)
        width = LETTER * max(len(name), len(size))
        middle = (segment.start + segment.size / 2) / bar.extent
        start = max(end, min(middle - width / 2, 1 - width))
        if segment.size > bar.extent * LABEL_FROM and (start <= middle and start + width <= 1 + LETTER):
            labels.append(_label(f"<b>{name}</b><br>{size}", start, middle, width, bar.extent))
            end = start + width
    return labels


def _label(text: str, start: float, middle: float, width: float, extent: int) -> dict[str, Any]:
    """Centred where it has not been moved, else anchored at the side that it was moved to. Shares of the extent."""
    if start > middle - width / 2:
        x, anchor = start, "left"
    elif start < middle - width / 2:
        x, anchor = start + width, "right"
    else:
        x, anchor = middle, "center"
    return {
        "x": x * extent,
        "xanchor": anchor,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": 4,
        "showarrow": False,
        "text": text,
        "font": {"size": 12, "color": inks.INK},
    }


def _capacity_label(bar: Bar, unit: Unit) -> list[dict[str, Any]]:
    """One text for both lines, so that it cannot collide with itself on a phone. It ends at the card's end, or begins
    at the budget where too little lies left of that."""
    if bar.card is None or bar.budget is None:
        return []
    used = f"{bar.budget / bar.card:.0%}".replace("%", " %")
    text = f"<b>budget {number_in(bar.budget, unit)}</b> ({used}) · card {number_in(bar.card, unit)} {unit}"
    ends = bar.card > bar.extent * LABEL_ENDS_FROM
    return [
        {
            "x": bar.card if ends else min(bar.budget, bar.extent * LABEL_STARTS_TO),
            "y": 0,
            "yref": "paper",
            "xanchor": "right" if ends else "left",
            "yanchor": "top",
            "yshift": -4,
            "showarrow": False,
            "text": text,
            "font": {"size": 12, "color": inks.INK},
        }
    ]


def alternative_text(bars: Sequence[Bar], unit: Unit) -> str:
    rows = [_row_text(bar, unit) for bar in bars]
    alike = _alike(bars)
    lines = "".join(_budget_text(bar, "" if alike else f" of {bar.name}", unit) for bar in bars[: 1 if alike else None])
    return f"Memory of one GPU, from left to right: {'; '.join(rows)}.{lines}"


def _budget_text(bar: Bar, of: str, unit: Unit) -> str:
    if bar.card is None or bar.budget is None:
        return ""
    return f" The budget{of} is {amount(bar.budget, unit)} of the card's {amount(bar.card, unit)}."


def _row_text(bar: Bar, unit: Unit) -> str:
    terms = ", ".join(f"{segment.name} {amount(segment.size, unit)}" for segment in bar.segments)
    return f"{bar.name}: {terms}" if bar.name else terms
