"""Time per token against position, with the cache and without it, as a plain dict."""

from math import log10
from statistics import median
from typing import Any

from components import inks
from components.live_chart import note, x_axis
from live.prediction import Times, times_of
from live.receipts import Run

HEIGHT = 300


def times_figure(run: Run) -> dict[str, Any]:
    """Milliseconds of one token against its position, with the cache and, where measured, without it."""
    with_cache = {
        "type": "scatter",
        "mode": "markers",
        "name": "With the cache",
        "x": run.steps.tokens[1:],
        "y": [seconds * 1000 for seconds in run.steps.seconds[1:]],
        "marker": {"size": 4, "color": inks.INK, "opacity": 0.55},
        "hovertemplate": "%{x:,} tokens: %{y:,.2f} ms<extra>With the cache</extra>",
    }
    again = run.recompute if run.recompute and run.recompute.tokens else None
    traces = [with_cache] if again is None else [with_cache, _without(again.tokens, again.seconds)]
    return {
        "data": [*traces, *_trend(times_of(run), run)],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 30, "b": 40, "l": 48, "r": 8},
            "showlegend": False,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": x_axis("y"),
            "yaxis": {"fixedrange": True, "tickfont": {"size": 11}} | _scale(again is not None),
            "annotations": [note("ms per token", 0, 1, yshift=6), *_names(run)],
        },
    }


def _scale(logarithmic: bool) -> dict[str, Any]:
    return {"type": "log", "dtick": 1} if logarithmic else {"rangemode": "tozero"}


def _without(tokens: list[int], seconds: list[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "Without the cache",
        "x": tokens,
        "y": [each * 1000 for each in seconds],
        "line": {"color": inks.NEUTRAL, "width": 1.5, "dash": "dash"},
        "marker": {"size": 7, "symbol": "diamond-open", "color": inks.INK},
        "hovertemplate": "%{x:,} tokens: %{y:,.1f} ms<extra>Without the cache</extra>",
    }


def _trend(times: Times | None, run: Run) -> list[dict[str, Any]]:
    if times is None or times.line is None:
        return []
    ends = [run.steps.tokens[1], run.steps.tokens[-1]]
    values = [(times.line.intercept + times.line.slope * n) * 1000 for n in ends]
    if min(values) <= 0:
        return []
    line = {"color": inks.INK, "width": 1.5}
    return [
        {"type": "scatter", "mode": "lines", "name": "Fit", "x": ends, "y": values, "line": line, "hoverinfo": "skip"}
    ]


def _names(run: Run) -> list[dict[str, Any]]:
    """The two series named on the marks."""
    if not run.recompute or not run.recompute.tokens or not run.steps.seconds[1:]:
        return []
    ends = (
        ("without the cache", run.recompute.seconds[-1], 1),
        ("with the cache", median(run.steps.seconds[1:]), -1),
    )
    return [
        {
            "text": name,
            "x": run.steps.tokens[-1],
            "y": log10(max(seconds, 1e-6) * 1000),
            "xanchor": "right",
            "yanchor": "bottom" if side > 0 else "top",
            "yshift": 6 * side,
            "showarrow": False,
            "font": {"size": 12, "color": inks.INK},
        }
        for name, seconds, side in ends
    ]


def times_alternative(run: Run) -> str:
    times = times_of(run)
    each = f"{times.each * 1000:,.2f} ms in the median" if times and times.each else "no decoded token"
    again = run.recompute
    without = ""
    if again and again.seconds:
        first, last = again.seconds[0] * 1000, again.seconds[-1] * 1000
        without = (
            f"; without the cache {first:,.1f} ms at {again.tokens[0]:,} tokens and {last:,.1f} ms at "
            f"{again.tokens[-1]:,}"
        )
    return f"Time per token against position: with the cache {each}{without}."
