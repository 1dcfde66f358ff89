"""A cut through the map: the memory of one GPU, stacked by term, against length or against load."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log10
from typing import Any, Literal

import numpy as np

from components import inks
from components.format import BYTES_IN, Unit, amount, counted, number_in, short_tokens
from components.tradeoff_axes import above, below, log_axis, note
from components.tradeoff_map import steps
from components.tradeoff_survey import Survey
from sizing.cuts import Cut, cut_of, overtaking_batch, overtaking_length
from sizing.engines.plan import EnginePlan
from sizing.map import counts
from sizing.room import tightest_rank

HEIGHT = 330
MARGIN = {"t": 32, "b": 40, "l": 38, "r": 8}
CONFIG = {"displayModeBar": False}
HEADROOM = 1.36  # of the budget; what goes beyond is cut off
Along = Literal["tokens", "requests"]


@dataclass(frozen=True)
class Drawn:
    """What the figure shows: places along the axis, the terms there, and where KV overtakes the weights."""

    along: Along
    places: tuple[int, ...]
    here: int
    terms: Cut
    crossing: int | None
    budget: int | None

    @property
    def ceiling(self) -> int:
        """The top of the figure in bytes."""
        yours = int(np.interp(log10(self.here), np.log10(self.places), self.terms.total.astype(float)))
        return int(
            max((self.budget or 0) * HEADROOM, yours * 1.1, int(self.terms.total.max()) if not self.budget else 0)
        )


def drawn(planned: EnginePlan, survey: Survey, along: Along) -> Drawn:
    """The GPU with the least room at the scenario, along the map's own axes."""
    rank, axes = tightest_rank(planned), survey.axes
    if along == "tokens":
        places, here = _places(axes.bottom, axes.top, survey.tokens), survey.tokens
        tokens, batch = counts(planned, places, [survey.batch])
        crossing = overtaking_length(planned, rank)
    else:
        places, here = _places(1, axes.right, survey.batch), survey.batch
        tokens, batch = counts(planned, [survey.tokens], places)
        crossing = overtaking_batch(planned, rank)
    seen = crossing if crossing is not None and places[0] <= crossing <= places[-1] else None
    terms = cut_of(planned, rank, tokens.ravel(), batch.ravel())
    return Drawn(along, places, here, terms, seen, planned.budget)


def _places(first: int, last: int, here: int) -> tuple[int, ...]:
    return tuple(sorted({*steps(first, last, 8), here}))


def cut_figure(cut: Drawn, survey: Survey, unit: Unit) -> dict[str, Any]:
    """The figure as a plain dict; sizes are in `unit`."""
    each = f"{survey.batch:,} at once" if cut.along == "tokens" else f"{short_tokens(survey.tokens)} tokens each"
    title = f"tokens per request, {each}" if cut.along == "tokens" else f"concurrent requests, {each}"
    return {
        "data": [*_areas(cut, unit), *_crossing(cut, unit)],
        "layout": {
            "height": HEIGHT,
            "margin": MARGIN,
            "showlegend": False,
            "hovermode": "x unified",
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": log_axis(cut.places[0], cut.places[-1]) | {"hoverformat": ",d"},
            "yaxis": _sizes(cut, unit),
            "shapes": _marks(cut, unit),
            "annotations": [above(f"{unit} per GPU"), below(title), *_labels(cut, unit)],
        },
    }


def _sizes(cut: Drawn, unit: Unit) -> dict[str, Any]:
    return {
        "range": [0, cut.ceiling / BYTES_IN[unit]],
        "tickfont": {"size": 11},
        "nticks": 6,
        "gridcolor": inks.faded(inks.NEUTRAL, 0.22),
        "zeroline": False,
        "fixedrange": True,
        "hoverformat": ",.3r",
        "title": None,
    }


def named_terms(cut: Drawn) -> list[tuple[str, np.ndarray, str]]:
    """From the bottom up, those that are nothing anywhere left out."""
    terms = cut.terms
    named = [
        ("Weights", terms.weights, inks.WEIGHTS),
        ("Activations", terms.activation, inks.ACTIVATIONS),
        ("CUDA graphs", terms.graphs, inks.GRAPHS),
        ("Runtime", terms.runtime, inks.RUNTIME),
        ("State", terms.state, inks.STATE),
        ("KV cache", terms.kv, inks.KV),
        ("Reserved, unused", terms.split, inks.KV),
    ]
    return [(name, size, colour) for name, size, colour in named if size.any()]


def _areas(cut: Drawn, unit: Unit) -> Iterator[dict[str, Any]]:
    for name, size, colour in named_terms(cut):
        hatched = name == "Reserved, unused"
        pattern = {"shape": "/", "size": 7, "solidity": 0.2, "fgcolor": colour, "bgcolor": inks.faded(colour, 0.12)}
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": list(cut.places),
            "y": [round(float(each) / BYTES_IN[unit], 4) for each in size],
            "stackgroup": "terms",
            "line": {"width": 0, "color": colour},
            "fillcolor": inks.faded(colour, 0.12) if hatched else colour,
            **({"fillpattern": pattern} if hatched else {}),
            "hovertemplate": f"%{{y:,.3r}} {unit}",
        }


def _crossing_height(cut: Drawn) -> int:
    """The top of the stack where KV equals the weights."""
    assert cut.crossing is not None
    terms = cut.terms
    below_kv = terms.total - terms.kv - terms.split
    under = float(np.interp(log10(cut.crossing), np.log10(cut.places), below_kv.astype(float)))
    return int(under + int(terms.weights.flat[0]))


def _crossing(cut: Drawn, unit: Unit) -> Iterator[dict[str, Any]]:
    """An open circle on the upper edge of the keys and values."""
    if cut.crossing is None or _crossing_height(cut) > cut.ceiling:
        return
    yield {
        "type": "scatter",
        "mode": "markers",
        "x": [cut.crossing],
        "y": [_crossing_height(cut) / BYTES_IN[unit]],
        "marker": {"size": 9, "color": inks.PAPER, "line": {"color": inks.INK, "width": 2}},
        "hoverinfo": "skip",
    }


def _marks(cut: Drawn, unit: Unit) -> list[dict[str, Any]]:
    """You, dotted; and the budget, which is drawn last."""
    you = {"type": "line", "x0": cut.here, "x1": cut.here, "y0": 0, "y1": 1, "yref": "paper"}
    marks: list[dict[str, Any]] = [you | {"line": {"color": inks.INK, "width": 1, "dash": "dot"}}]
    if cut.budget is not None:
        line = {"type": "line", "x0": cut.places[0], "x1": cut.places[-1], "line": {"color": inks.INK, "width": 2}}
        marks.append(line | dict.fromkeys(("y0", "y1"), cut.budget / BYTES_IN[unit]))
    return marks


def _labels(cut: Drawn, unit: Unit) -> Iterator[dict[str, Any]]:
    left = log10(cut.places[0])
    if cut.budget is not None:
        text = f"<b>budget {number_in(cut.budget, unit)} {unit}</b>"
        at = cut.budget / BYTES_IN[unit]
        yield note(
            text, left, at, xanchor="left", yanchor="bottom", xshift=4, bgcolor=inks.PAPER, borderpad=1, yshift=2
        )
    weights = int(cut.terms.weights.flat[0])
    if weights > 0.1 * cut.ceiling:
        white = {"size": 12, "color": "#FFFFFF"}
        yield note("Weights", left, weights / 2 / BYTES_IN[unit], xanchor="left", xshift=6, font=white)
    yield note("you", log10(cut.here), 1, yref="paper", yanchor="bottom", bgcolor=inks.PAPER)
    if cut.crossing is not None and (height := _crossing_height(cut)) <= cut.ceiling:
        yield _crossing_label(cut, height, unit)


def _crossing_label(cut: Drawn, height: int, unit: Unit) -> dict[str, Any]:
    """Above the curve, which rises to the right: left of the circle, or from the left edge where that is near."""
    assert cut.crossing is not None
    left = log10(cut.places[0])
    near = log10(cut.crossing) - left < 0.35 * (log10(cut.places[-1]) - left)
    return note(
        f"<b>KV = weights</b><br>{counted(cut.crossing, cut.along[:-1])}",
        left if near else log10(cut.crossing),
        height / BYTES_IN[unit],
        xanchor="left" if near else "right",
        yanchor="bottom",
        xshift=6 if near else -10,
        yshift=8 if near else 0,
        align="left" if near else "right",
        bgcolor=inks.PAPER,
        borderpad=2,
    )


def crossing_line(cut: Drawn) -> str:
    """Where KV overtakes the weights, in words."""
    if cut.crossing is None:
        first, last = (f"{short_tokens(place)} {cut.along}" for place in (cut.places[0], cut.places[-1]))
        smaller = int(cut.terms.kv[-1]) < int(cut.terms.weights.flat[0])
        return f"KV stays below the weights up to {last}." if smaller else f"KV exceeds the weights from {first} on."
    return f"KV overtakes the weights at {counted(cut.crossing, cut.along[:-1])}."


def alternative_text(cut: Drawn, unit: Unit) -> str:
    index = cut.places.index(cut.here)
    terms = ", ".join(f"{name} {amount(int(size.flat[index]), unit)}" for name, size, _ in named_terms(cut))
    budget = "" if cut.budget is None else f" The budget is {amount(cut.budget, unit)}."
    return (
        f"Memory of one GPU against {cut.along}, stacked by term. Where you are: {terms}.{budget} {crossing_line(cut)}"
    )
