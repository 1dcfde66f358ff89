"""Cache growth over its prediction, with a strip of residuals and a playback, as a plain dict."""

from collections.abc import Sequence
from typing import Any

from components import inks
from components.format import BYTES_IN
from live.prediction import Predicted, residuals
from live.receipts import Run

HEIGHT, PLAYBACK = 430, 84
MOST_RINGS = 26
LINE_POINTS = 200
CONFIG = {"displayModeBar": False}
STRIP, MAIN = [0.0, 0.16], [0.3, 1.0]


def picked(length: int, most: int = MOST_RINGS) -> list[int]:
    """Evenly spaced places of a list, its ends among them."""
    if length <= most:
        return list(range(length))
    return [round(place * (length - 1) / (most - 1)) for place in range(most)]


def unit_of(largest: int) -> str:
    return next((name for name in ("GiB", "MiB") if largest >= 2 * BYTES_IN[name]), "KiB")


def growth_figure(run: Run, predicted: Predicted, *, playable: bool = False) -> dict[str, Any]:
    """Predicted line, measured rings and, where there is an allocator, what it held beyond the weights."""
    tokens = run.steps.tokens
    unit = unit_of(max(run.steps.cache))
    bands = _bands(run, unit)
    rings = picked(len(tokens))
    figure: dict[str, Any] = {
        "data": [*bands, _line(run, predicted, unit), _rings(run, rings, unit), _strip(run, predicted, rings)],
        "layout": _growth_layout(run, predicted, unit, bool(bands)),
    }
    return _with_playback(figure, run, rings, unit, len(bands) + 1) if playable and len(rings) > 2 else figure


def _line(run: Run, predicted: Predicted, unit: str) -> dict[str, Any]:
    first, last = run.steps.tokens[0], max(run.steps.tokens[-1], run.settings.max_tokens)
    places = sorted({first + round(i * (last - first) / LINE_POINTS) for i in range(LINE_POINTS + 1)})
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Predicted",
        "x": places,
        "y": [predicted.at(n) / BYTES_IN[unit] for n in places],
        "line": {"color": inks.KV, "width": 2},
        "hovertemplate": f"%{{x:,}} tokens: %{{y:,.3f}} {unit}<extra>Predicted</extra>",
    }


def _rings(run: Run, places: Sequence[int], unit: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Measured",
        "x": [run.steps.tokens[i] for i in places],
        "y": [run.steps.cache[i] / BYTES_IN[unit] for i in places],
        "marker": {"symbol": "circle-open", "size": 7, "color": inks.INK, "line": {"width": 2, "color": inks.INK}},
        "hovertemplate": f"%{{x:,}} tokens: %{{y:,.3f}} {unit}<extra>Measured</extra>",
    }


def _bands(run: Run, unit: str) -> list[dict[str, Any]]:
    """torch's own account, less what it held before the first token."""
    lines: list[dict[str, Any]] = []
    for name, column, before in (
        ("Allocated by torch", run.steps.allocated, run.before.allocated),
        ("Reserved by the allocator", run.steps.reserved, run.before.reserved),
    ):
        pairs = zip(run.steps.tokens, column, strict=True)
        known = [(n, value - (before or 0)) for n, value in pairs if value is not None]
        if known and before is not None:
            lines.append(_band(name, known, unit, fill=bool(lines)))
    return lines


def _band(name: str, known: list[tuple[int, int]], unit: str, fill: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [n for n, _ in known],
        "y": [value / BYTES_IN[unit] for _, value in known],
        "line": {"color": inks.NEUTRAL, "width": 1.5, "dash": "dot" if fill else "solid", "shape": "hv"},
        "fill": "tonexty" if fill else "none",
        "fillcolor": inks.faded(inks.NEUTRAL, 0.12),
        "hovertemplate": f"%{{x:,}} tokens: %{{y:,.2f}} {unit}<extra>{name}</extra>",
    }


def _strip(run: Run, predicted: Predicted, places: Sequence[int]) -> dict[str, Any]:
    off = residuals(run, predicted)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Measured − predicted",
        "x": [run.steps.tokens[i] for i in places],
        "y": [off[i] for i in places],
        "yaxis": "y2",
        "marker": {"size": 5, "color": inks.INK},
        "hovertemplate": "%{x:,} tokens: %{y:+,} B<extra>Measured − predicted</extra>",
    }


def _growth_layout(run: Run, predicted: Predicted, unit: str, banded: bool) -> dict[str, Any]:
    off = residuals(run, predicted)
    worst = max(1024, *(abs(residual) * 1.2 for residual in off))
    said = "<b>0 B</b> at every step" if not any(off) else f"<b>{max(off, key=abs):+,} B</b> at most"
    return {
        "height": HEIGHT,
        "margin": {"t": 34, "b": 40, "l": 48, "r": 8},
        "showlegend": False,
        "hoverlabel": {"font": {"size": 12}},
        "xaxis": x_axis("y2"),
        "yaxis": {"domain": MAIN, "fixedrange": True, "rangemode": "tozero", "tickfont": {"size": 11}},
        "yaxis2": {
            "domain": STRIP,
            "fixedrange": True,
            "range": [-worst, worst],
            "tickvals": [-worst, 0, worst],
            "ticktext": [f"−{worst:,.0f} B", "0", f"{worst:,.0f} B"],
            "tickfont": {"size": 11},
        },
        "annotations": [
            note(unit, 0, 1, yshift=8),
            note("measured − predicted", 0, STRIP[1], yshift=6),
            note(said, 1, STRIP[1], yshift=6, right=True),
        ],
    }


def x_axis(anchor: str) -> dict[str, Any]:
    title = {"text": "tokens in the cache, each request", "font": {"size": 12}}
    return {"anchor": anchor, "fixedrange": True, "title": title, "tickfont": {"size": 11}, "tickformat": ","}


def note(text: str, x: float, y: float, *, yshift: int, right: bool = False) -> dict[str, Any]:
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right" if right else "left",
        "yanchor": "bottom",
        "yshift": yshift,
        "showarrow": False,
        "font": {"size": 12, "color": inks.INK},
    }


def _with_playback(figure: dict[str, Any], run: Run, rings: list[int], unit: str, place: int) -> dict[str, Any]:
    """A frame a ring, with Play and a slider."""
    frames = [
        {"name": str(shown), "data": [_rings(run, rings[:shown], unit)], "traces": [place]}
        for shown in range(1, len(rings) + 1)
    ]
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}}
    moving = {"fromcurrent": True, "frame": {"duration": 120, "redraw": False}, "transition": {"duration": 0}}
    steps = [
        {"method": "animate", "label": f"{run.steps.tokens[ring]:,}", "args": [[str(shown + 1)], still]}
        for shown, ring in enumerate(rings)
    ]
    layout = figure["layout"]
    layout["height"] += PLAYBACK
    layout["margin"]["t"] += PLAYBACK
    layout["updatemenus"] = [_play_button([{"label": "▶ Play", "method": "animate", "args": [None, moving]}])]
    layout["sliders"] = [_slider(steps)]
    return figure | {"frames": frames}


def _play_button(buttons: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "buttons",
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 76, "l": 0},
        "showactive": False,
        "bgcolor": "rgba(0,0,0,0)",
        "bordercolor": inks.NEUTRAL,
        "font": {"size": 12, "color": inks.INK},
        "buttons": buttons,
    }


def _slider(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "active": len(steps) - 1,
        "x": 0,
        "len": 1,
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 34, "t": 0, "l": 0, "r": 0},
        "ticklen": 0,
        "minorticklen": 0,
        "bgcolor": inks.NEUTRAL,
        "activebgcolor": inks.INK,
        "bordercolor": inks.NEUTRAL,
        "font": {"size": 11, "color": "rgba(0,0,0,0)"},
        "currentvalue": {"suffix": " tokens", "xanchor": "right", "font": {"size": 12, "color": inks.INK}},
        "steps": steps,
    }


def growth_alternative(run: Run, predicted: Predicted) -> str:
    return (
        f"Cache bytes against tokens: measured {run.steps.cache[0]:,} to {run.steps.cache[-1]:,} bytes from "
        f"{run.steps.tokens[0]:,} to {run.steps.tokens[-1]:,} tokens, predicted {predicted.at(run.steps.tokens[-1]):,} "
        f"at the end; the largest difference is {max(map(abs, residuals(run, predicted))):,} bytes."
    )
