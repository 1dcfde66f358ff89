"""The map: which lengths and loads fit, the frontiers of the scenario and its overlays, and where the reader is."""

from collections.abc import Iterator, Sequence
from math import log10
from typing import Any

import numpy as np

from components import inks
from components.format import BYTES_IN, Unit, amount, counted, short_tokens
from components.tradeoff_axes import above, below, log_axis, note
from components.tradeoff_survey import Axes, Line, Survey
from sizing.cuts import Cells, cells_at
from sizing.map import Frontier, counts

HEIGHT = 430
LEFT = 0.7  # so that the step of a single request is seen
DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot", "2px,6px,10px,6px")
STAGGER = 1.75
SHORTEST_GUIDE = 0.15  # decades
LABEL_WIDTH = 0.33  # of the map on a phone, for the label of where the reader is
LABEL_DECADES = 0.45  # its height
SHORTEST_LABELLED = 0.62  # decades that hold the label of a guide
CONFIG = {
    "displayModeBar": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "png", "filename": "kv-atlas-map", "scale": 2},
}
ROOM = {
    "fits": "<b>Fits</b>, {} of the pool left",
    "tight": "<b>Tight</b>, {} of the pool left",
    "short": "<b>Short by {}</b>",
}
SKIP: dict[str, Any] = {"hoverinfo": "skip"}


def tradeoff_map(survey: Survey, unit: Unit) -> dict[str, Any]:
    """The figure as a plain dict. Points of the hover grid are the ones that a click moves the scenario to."""
    axes = survey.axes
    return {
        "data": [*_grid(survey, unit), *_lines(survey), _you(survey)],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 32, "b": 40, "l": 38, "r": 8},
            "showlegend": False,
            "paper_bgcolor": inks.PAPER,
            "plot_bgcolor": inks.PAPER,
            "hovermode": "closest",
            "hoverdistance": -1,
            "hoverlabel": {
                "font": {"size": 12, "color": inks.INK},
                "bgcolor": inks.PAPER,
                "bordercolor": inks.NEUTRAL,
                "align": "left",
            },
            "xaxis": log_axis(LEFT, axes.right),
            "yaxis": log_axis(axes.bottom, axes.top),
            "shapes": [*_limit(axes), *_guides(survey)],
            "annotations": [
                above("tokens per request"),
                below("concurrent requests"),
                *_limit_label(axes),
                *_names(survey),
                *_guide_labels(survey),
                _you_label(survey),
            ],
        },
    }


def _lines(survey: Survey) -> Iterator[dict[str, Any]]:
    """The overlays in ink, told apart by dash, under the scenario's own."""
    for line, dash in zip(survey.lines[1:], DASHES, strict=False):
        if line.corners.batch:
            style = {"color": inks.INK, "width": 1.5, "dash": dash, "shape": "vh"}
            yield {**_steps(line.corners, survey.axes), "line": style}
    if survey.own.corners.batch:
        shade = {"fill": "tozeroy", "fillcolor": inks.faded(inks.KV, 0.1)}
        style = {"color": inks.KV, "width": 3, "shape": "vh"}
        yield {**_steps(survey.own.corners, survey.axes), **shade, "line": style}


def _steps(corners: Frontier, axes: Axes) -> dict[str, Any]:
    """From the left edge over every corner down to the bottom; a corner stands at the outer end of its step."""
    batch = [LEFT, *corners.batch, corners.batch[-1]]
    tokens = [corners.tokens[0], *corners.tokens, axes.bottom]
    return {"type": "scatter", "mode": "lines", "x": batch, "y": tokens, **SKIP}


def _you(survey: Survey) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [survey.batch],
        "y": [survey.tokens],
        "marker": {"size": 13, "color": inks.INK, "opacity": 1},
        "unselected": {"marker": {"opacity": 1}},
        **SKIP,
    }


def _you_label(survey: Survey) -> dict[str, Any]:
    """Below at the left, inside; above at the right, where no frontier falls, outside of it or close to it. Turned
    where an edge is near."""
    axes = survey.axes
    beyond = _outside(survey) or _close(survey)
    right = beyond or _left_of_map(survey)
    over = beyond or survey.tokens < 2 * axes.bottom or (_left_of_map(survey) and _roof(survey) > LABEL_DECADES)
    return note(
        f"<b>you are here</b><br>{survey.batch:,} × {short_tokens(survey.tokens)}",
        log10(survey.batch),
        log10(survey.tokens),
        xanchor="left" if right else "right",
        yanchor="bottom" if over else "top",
        xshift=10 if right else -10,
        yshift=4 if over else -6,
        align="left" if right else "right",
        bgcolor=inks.PAPER if beyond or (right and _wall(survey) < 1) else None,
    )


def _left_of_map(survey: Survey) -> bool:
    """Too near to the left edge for a label on that side."""
    return log10(survey.batch / LEFT) < LABEL_WIDTH * log10(survey.axes.right / LEFT)


def _close(survey: Survey) -> bool:
    """So near to the scenario's own frontier that a label inside would lie on it."""
    ends = zip(reach(survey.own), (survey.batch, survey.tokens), strict=True)
    return any(end and abs(log10(end / here)) < SHORTEST_GUIDE for end, here in ends)


def _wall(survey: Survey) -> float:
    """Decades between the reader and the frontier, or the end of the map, at the right."""
    most = reach(survey.own)[0]
    end = survey.axes.right if most is None else min(most, survey.axes.right)
    return log10(max(end, 1) / survey.batch)


def _roof(survey: Survey) -> float:
    """Decades between the reader and the frontier, or the top of the map, above."""
    top = min(reach(survey.own)[1] or survey.axes.top, survey.axes.top)
    return log10(max(top, 1) / survey.tokens)


def _outside(survey: Survey) -> bool:
    report = survey.own.outcome.report
    return report is not None and report.verdict.fits is False


def _limit(axes: Axes) -> list[dict[str, Any]]:
    if axes.limit is None or not axes.bottom < axes.limit < axes.top:
        return []
    style = {"color": inks.NEUTRAL, "width": 1.5, "dash": "dot"}
    return [{"type": "line", "x0": LEFT, "x1": axes.right, "y0": axes.limit, "y1": axes.limit, "line": style}]


def _limit_label(axes: Axes) -> list[dict[str, Any]]:
    if not _limit(axes):
        return []
    text = f"the model's limit, {short_tokens(axes.limit or 0)}"
    return [note(text, log10(axes.right), log10(axes.limit or 1), xanchor="right", yanchor="bottom")]


def _names(survey: Survey) -> Iterator[dict[str, Any]]:
    """Each name right of its line, those of lines further out higher up."""
    axes = survey.axes
    drawn = sorted((line for line in survey.lines if line.corners.batch), key=lambda line: _at(line, axes.bottom)[0])
    for place, line in enumerate(drawn):
        batch, tokens = _at(line, axes.bottom * STAGGER ** (place + 1))
        far = log10(batch) > 0.8 * log10(axes.right)
        yield note(
            f"<b>{line.name}</b>" if line is survey.own else line.name,
            log10(min(batch, axes.right)),
            log10(tokens),
            xanchor="right" if far else "left",
            xshift=-5 if far else 5,
            bgcolor=inks.PAPER,
            borderpad=1,
        )


def _at(line: Line, tokens: float) -> tuple[int, float]:
    """The most sequences of at least so many tokens; the last corner where the line ends above or below."""
    pairs = list(zip(line.corners.batch, line.corners.tokens, strict=True))
    fitting = [batch for batch, longest in pairs if longest >= tokens]
    return (fitting[-1], tokens) if fitting else (pairs[0][0], pairs[0][1])


def reach(line: Line) -> tuple[int | None, int | None]:
    """The most requests of the scenario's length and the most tokens at its load; None: no limit, or not known."""
    report = line.outcome.report
    if report is None or line.outcome.fault:
        return None, None
    return report.capacity.max_batch_at_context, report.capacity.max_context_at_batch


def _guide_ends(survey: Survey) -> Iterator[tuple[str, int]]:
    """Ends on the scenario's own frontier, those too near to the reader left out."""
    most, longest = reach(survey.own)
    if most and abs(log10(most / survey.batch)) >= SHORTEST_GUIDE and most <= survey.axes.right:
        yield "x", most
    if longest and abs(log10(longest / survey.tokens)) >= SHORTEST_GUIDE and longest >= survey.axes.bottom:
        yield "y", longest


def _guides(survey: Survey) -> list[dict[str, Any]]:
    style = {"color": inks.NEUTRAL, "width": 1, "dash": "dot"}
    here = {"x0": survey.batch, "x1": survey.batch, "y0": survey.tokens, "y1": survey.tokens}
    ends = {"x": survey.axes.right, "y": survey.axes.top}
    return [
        {"type": "line", **here, f"{axis}1": min(end, ends[axis]), "line": style} for axis, end in _guide_ends(survey)
    ]


def _guide_labels(survey: Survey) -> Iterator[dict[str, Any]]:
    """Inside the shaded area, at the frontier's end of each guide; where that is too narrow beyond the frontier, and
    above the guide, since frontiers fall to the right."""
    for axis, end in _guide_ends(survey):
        if axis == "x":
            beyond = 0 < log10(end / survey.batch) < SHORTEST_LABELLED or (end < survey.batch and end <= 2)
            yield note(
                counted(end, "request"),
                log10(end),
                log10(survey.tokens),
                xanchor="left" if beyond else "right",
                yanchor="bottom" if beyond else "top",
                xshift=8 if beyond else -6,
                bgcolor=inks.PAPER if beyond else None,
            )
        else:
            shown = min(end, survey.axes.top)
            left = _left_of_map(survey)
            over = left and end < 0.7 * survey.axes.top
            yield note(
                f"{end:,} tokens",
                log10(survey.batch),
                log10(shown),
                xanchor="left" if left else "right",
                yanchor="bottom" if over else "top",
                xshift=6 if left else -6,
                yshift=4 if over else -6,
                bgcolor=inks.PAPER if over else None,
            )


def _grid(survey: Survey, unit: Unit) -> Iterator[dict[str, Any]]:
    """Invisible points that say what is there: one trace for each verdict."""
    points = _grid_points(survey, unit)
    for verdict, room in ROOM.items():
        chosen = [point for point in points if point[0] == verdict]
        if chosen:
            yield _grid_trace(verdict, room.format(f"%{{customdata[2]:,.3r}} {unit}"), chosen, survey, unit)


Point = tuple[str, int, int, list[float]]


def _grid_trace(verdict: str, room: str, points: Sequence[Point], survey: Survey, unit: Unit) -> dict[str, Any]:
    planned = survey.own.outcome.planned
    assert planned is not None
    weights = max(rank.weights + rank.draft + rank.encoder for rank in planned.ranks)
    state = f"<br>State %{{customdata[1]:,.3r}} {unit}" if any(point[3][1] for point in points) else ""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": verdict.capitalize(),
        "x": [point[1] for point in points],
        "y": [point[2] for point in points],
        "customdata": [point[3] for point in points],
        "marker": {"size": 6, "opacity": 0, "color": inks.NEUTRAL},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        "hovertemplate": "<b>%{x:,d} × %{y:,d} tokens</b>"
        f"<br>Weights {amount(weights, unit)}<br>KV %{{customdata[0]:,.3r}} {unit}{state}"
        f"<br>{room}<extra></extra>",
    }


def _grid_points(survey: Survey, unit: Unit) -> list[Point]:
    """Verdict, batch, length, and KV, state and room in `unit` of every grid point that the engine accepts."""
    lengths, batches = steps(survey.axes.bottom, survey.axes.top, 2), steps(1, survey.axes.right, 4)
    points: list[Point] = []
    for band in survey.own.bands:
        inside = [length for length in lengths if band.first <= length <= band.last]
        if not inside:
            continue
        tokens, batch = counts(band.planned, inside, batches)
        cells = cells_at(band.planned, tokens, batch)
        verdicts = cells.verdicts
        if verdicts is None:
            continue
        shown = _in_unit(cells, unit)
        points += [
            (str(verdicts[row, column]), load, length, shown[row][column])
            for row, length in enumerate(inside)
            for column, load in enumerate(batches)
        ]
    return points


def steps(first: int, last: int, parts: int) -> list[int]:
    """Whole numbers from `first` to `last`, `parts` to an octave, those of round length exact."""
    octaves = int(np.log2(last / first))
    return sorted(
        {
            round(first * 2 ** (step / parts)) if step % parts else first * 2 ** (step // parts)
            for step in range(octaves * parts + 1)
        }
    )


def _in_unit(cells: Cells, unit: Unit) -> list[list[list[float]]]:
    """Four significant figures keep the figure's text short; three are shown."""
    assert cells.free is not None
    parts = np.stack([np.asarray(part, dtype=float) for part in (cells.kv, cells.state, np.abs(cells.free))], axis=-1)
    size = parts / BYTES_IN[unit]
    scale = 10.0 ** (3 - np.floor(np.log10(np.maximum(size, 1e-9))))
    shown: list[list[list[float]]] = (np.round(size * scale) / scale).tolist()
    return shown


def alternative_text(survey: Survey) -> str:
    """What the map shows, in words."""
    axes, own = survey.axes, survey.own
    most, longest = reach(own)
    head = f"Map of {short_tokens(axes.bottom)} to {short_tokens(axes.top)} tokens per request by 1 to {axes.right:,} "
    head += f"concurrent requests. You are at {counted(survey.batch, 'request')} of {survey.tokens:,} tokens. "
    fits = f"{own.name} fits {_many(most)} of this length and {longest or 0:,} tokens at this load."
    others = [
        f"{line.name}: {_many(reach(line)[0])}, {reach(line)[1] or 0:,} tokens"
        for line in survey.lines[1:]
        if line.corners.batch
    ]
    return head + fits + (f" Overlays: {'; '.join(others)}." if others else "")


def _many(most: int | None) -> str:
    return "any number of requests" if most is None else counted(most, "request")
