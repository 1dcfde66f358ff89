"""How many figures are off by how much, and to which side, in bins that widen outwards."""

from collections.abc import Iterable
from typing import Any

from components import inks
from components.accuracy_marks import MARKS
from sizing.receipts.comparing import Comparison
from sizing.receipts.figures import KINDS, Kind

HEIGHT = 380
EDGES = (-10.0, -5.0, -2.0, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)  # per cent
LABELS = (
    "< −10",
    "−10 … −5",
    "−5 … −2",
    "−2 … −1",
    "−1 … −0.5",
    "−0.5 … −0.1",
    "±0.1",
    "0.1 … 0.5",
    "0.5 … 1",
    "1 … 2",
    "2 … 5",
    "5 … 10",
    "> 10",
)


def bin_of(error: float) -> int:
    """The bin of a signed error given as a share. An error on an edge belongs to the bin nearer to zero."""
    value = error * 100
    if value < 0:
        return sum(value >= edge for edge in EDGES)
    return sum(value > edge for edge in EDGES)


def counts_of(comparisons: Iterable[Comparison]) -> dict[Kind, list[int]]:
    counts: dict[Kind, list[int]] = {kind: [0] * len(LABELS) for kind in KINDS}
    for each in comparisons:
        if each.error is not None:
            counts[each.figure.kind][bin_of(each.error)] += 1
    return counts


def histogram(comparisons: Iterable[Comparison]) -> dict[str, Any]:
    """The figure as a plain dict, each row with its total at the end of its bar."""
    counts = counts_of(comparisons)
    totals = [sum(row) for row in zip(*counts.values(), strict=True)]
    return {
        "data": [_trace(kind, row) for kind, row in counts.items() if any(row)],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 26, "b": 44, "l": 84, "r": 30},
            "barmode": "stack",
            "bargap": 0.25,
            "showlegend": False,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {
                "title": {"text": "figures, by signed error in %", "font": {"size": 12}},
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "rangemode": "tozero",
            },
            "yaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": list(LABELS),
                "range": [len(LABELS) - 0.5, -0.5],
                "fixedrange": True,
                "showgrid": False,
                "tickvals": list(LABELS),
            },
            "annotations": [_total(label, total) for label, total in zip(LABELS, totals, strict=True) if total],
        },
    }


def _trace(kind: Kind, row: list[int]) -> dict[str, Any]:
    mark = MARKS[kind]
    marker: dict[str, Any] = {"color": mark.colour, "line": {"color": mark.colour, "width": 1}}
    if mark.hatch:
        marker["color"] = inks.faded(mark.colour, 0.12)
        marker["pattern"] = {"shape": mark.hatch, "size": 6, "solidity": 0.25, "fgcolor": mark.colour, "fgopacity": 1}
        marker["pattern"]["fillmode"] = "overlay"
    return {
        "type": "bar",
        "orientation": "h",
        "name": kind,
        "x": [count or None for count in row],
        "y": list(LABELS),
        "marker": marker,
        "hovertemplate": f"%{{x}} × {kind}, %{{y}} %<extra></extra>",
    }


def _total(label: str, total: int) -> dict[str, Any]:
    return {
        "x": total,
        "y": label,
        "text": f"{total:,}",
        "xanchor": "left",
        "xshift": 3,
        "showarrow": False,
        "font": {"size": 11, "color": inks.INK},
    }


def alternative_text(comparisons: Iterable[Comparison]) -> str:
    totals = [sum(row) for row in zip(*counts_of(comparisons).values(), strict=True)]
    parts = [f"{total:,} at {label} %" for label, total in zip(LABELS, totals, strict=True) if total]
    return f"Figures by signed error: {', '.join(parts) or 'none'}."
