"""Predicted against printed, all kinds of figures on one pair of logarithmic axes."""

from collections.abc import Iterable
from math import ceil, floor, log10
from typing import Any

from components import accuracy_words as words
from components import inks
from components.accuracy_marks import MARKS
from sizing.receipts.comparing import Comparison
from sizing.receipts.figures import KINDS, Kind

HEIGHT = 380
LONGEST_LABEL = 18  # what a phone has room for
SUFFIXES = ((9, "G"), (6, "M"), (3, "k"))


def scatter(comparisons: Iterable[Comparison], worst: Comparison | None) -> dict[str, Any]:
    """The figure as a plain dict. A prediction of zero or less has no place on these axes; the table has it."""
    shown = [each for each in comparisons if each.predicted and each.predicted.value > 0 and each.printed > 0]
    values = [value for each in shown if each.predicted for value in (each.printed, each.predicted.value)]
    ends = (floor(log10(min(values))), ceil(log10(max(values)))) if values else (0, 1)
    axis = _axis(ends)
    return {
        "data": [_diagonal(ends), *(_trace(kind, shown) for kind in KINDS)],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 26, "b": 44, "l": 44, "r": 8},
            "showlegend": False,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {**axis, "title": {"text": "printed by the engine", "font": {"size": 12}}},
            "yaxis": axis,
            "annotations": [_corner(), *_worst_label(worst, ends)],
        },
    }


def _axis(ends: tuple[int, int]) -> dict[str, Any]:
    powers = range(ends[0], ends[1] + 1)
    return {
        "type": "log",
        "range": [ends[0] - 0.1, ends[1] + 0.1],
        "tickvals": [10.0**power for power in powers],
        "ticktext": [_tick(power) for power in powers],
        "fixedrange": True,
        "zeroline": False,
    }


def _tick(power: int) -> str:
    """0.01, 100, 10 k, 1 M."""
    for least, name in SUFFIXES:
        if power >= least:
            return f"{10 ** (power - least)} {name}"
    return f"{10.0**power:g}"


def _diagonal(ends: tuple[int, int]) -> dict[str, Any]:
    line = [10.0 ** (ends[0] - 0.1), 10.0 ** (ends[1] + 0.1)]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": line,
        "y": line,
        "line": {"color": inks.INK, "width": 1.5},
        "hoverinfo": "skip",
    }


def _trace(kind: Kind, shown: list[Comparison]) -> dict[str, Any]:
    ours = [each for each in shown if each.figure.kind == kind and each.predicted]
    mark = MARKS[kind]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": kind,
        "x": [each.printed for each in ours],
        "y": [each.predicted.value for each in ours if each.predicted],
        "text": [_hover(each) for each in ours],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "color": mark.colour,
            "symbol": mark.symbol,
            "size": 8,
            "line": {"color": mark.colour, "width": 1.5},
        },
    }


def _hover(comparison: Comparison) -> str:
    name = words.short_name(comparison)
    return (
        f"{name}, {comparison.figure.label}<br>predicted {words.predicted(comparison)}, "
        f"printed {words.printed(comparison)}<br>{words.signed(comparison.error)}"
    )


def _corner() -> dict[str, Any]:
    return {
        "text": "predicted",
        "x": 0,
        "xref": "paper",
        "y": 1,
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
        "font": {"size": 12},
    }


def _worst_label(worst: Comparison | None, ends: tuple[int, int]) -> list[dict[str, Any]]:
    if worst is None or worst.predicted is None or worst.predicted.value <= 0 or not worst.error:
        return []
    left = log10(worst.printed) > sum(ends) / 2  # towards the middle, where there is room on a phone
    return [
        {
            "text": f"{words.short_name(worst, LONGEST_LABEL)}  {words.signed(worst.error)}",
            "x": log10(worst.printed),
            "y": log10(worst.predicted.value),
            "ax": -24 if left else 24,
            "ay": -56 if left else 56,
            "xanchor": "right" if left else "left",
            "arrowcolor": inks.NEUTRAL,
            "arrowwidth": 1,
            "arrowhead": 0,
            "font": {"size": 12, "color": inks.INK},
        }
    ]


def alternative_text(comparisons: Iterable[Comparison], worst: Comparison | None) -> str:
    count = sum(each.predicted is not None for each in comparisons)
    tail = f" The furthest off is {words.short_name(worst)}, {words.signed(worst.error)}." if worst else ""
    return f"{count:,} predicted figures against the printed ones, on a diagonal where both are equal.{tail}"
