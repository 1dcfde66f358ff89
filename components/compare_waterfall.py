"""The waterfall between two rows: the room of one, what each term adds or takes, the room of the other."""

from typing import Any

from components import inks
from components.format import BYTES_IN, Unit, amount, three_figures
from sizing.comparison import Step, Waterfall

HEIGHT = 300
COLOURS = {
    "Weights": inks.WEIGHTS,
    "Draft": inks.WEIGHTS,
    "Encoder": inks.WEIGHTS,
    "Activations": inks.ACTIVATIONS,
    "CUDA graphs": inks.GRAPHS,
    "Runtime": inks.RUNTIME,
    "Recurrent state": inks.STATE,
    "KV needed": inks.KV,
}
TWO_LINES = {
    "Recurrent state": "Recurrent<br>state",
    "CUDA graphs": "CUDA<br>graphs",
    "KV needed": "KV<br>needed",
    "Pool rules": "Pool<br>rules",
    "Pool given": "Pool<br>given",
}


def waterfall_figure(steps: Waterfall, names: tuple[str, str], unit: Unit) -> dict[str, Any]:
    """`names` are the letters of the two rows. The axis is in `unit`."""
    bars = _bars(steps, names)
    return {
        "data": [_trace(bars, unit)],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 34, "b": 40, "l": 34, "r": 0},
            "showlegend": False,
            "barcornerradius": 2,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {"fixedrange": True, "tickfont": {"size": 11}, "showgrid": False, "tickangle": 0},
            "yaxis": {"fixedrange": True, "tickfont": {"size": 11}, "zeroline": False, "nticks": 7},
            "shapes": [_zero(len(bars)), *_connectors(bars, unit)],
            "annotations": [_title(steps, unit), *(_value(index, bar, unit) for index, bar in enumerate(bars))],
        },
    }


Bar = tuple[str, int, int, str]  # name, from, to, colour


def _bars(steps: Waterfall, names: tuple[str, str]) -> list[Bar]:
    word = "Room in" if steps.budgeted else "Need of"
    bars: list[Bar] = [(f"{word}<br>{names[0]}", 0, steps.before, inks.NEUTRAL)]
    level = steps.before
    for step in steps.steps:
        bars.append((step.term, level, level + step.gain, colour_of(step)))
        level += step.gain
    return [*bars, (f"{word}<br>{names[1]}", 0, steps.after, inks.NEUTRAL)]


def colour_of(step: Step) -> str:
    return COLOURS.get(step.term, inks.NEUTRAL)


def _trace(bars: list[Bar], unit: Unit) -> dict[str, Any]:
    size = BYTES_IN[unit]
    return {
        "type": "bar",
        "x": [TWO_LINES.get(name, name) for name, *_ in bars],
        "base": [start / size for _, start, _, _ in bars],
        "y": [(end - start) / size for _, start, end, _ in bars],
        "width": 0.62,
        "marker": {"color": [colour for *_, colour in bars], "line": {"width": 0}},
        "customdata": [amount(end - start, unit) for _, start, end, _ in bars],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _zero(bars: int) -> dict[str, Any]:
    """The budget."""
    line = {"color": inks.INK, "width": 2}
    return {"type": "line", "x0": -0.5, "x1": bars - 0.5, "y0": 0, "y1": 0, "line": line}


def _connectors(bars: list[Bar], unit: Unit) -> list[dict[str, Any]]:
    line = {"color": inks.NEUTRAL, "width": 1}
    levels = [bars[0][2], *(end for _, _, end, _ in bars[1:-1])]
    return [
        {
            "type": "line",
            "x0": index + 0.31,
            "x1": index + 0.69,
            "y0": level / BYTES_IN[unit],
            "y1": level / BYTES_IN[unit],
            "line": line,
        }
        for index, level in enumerate(levels)
    ]


def _value(index: int, bar: Bar, unit: Unit) -> dict[str, Any]:
    _, start, end, colour = bar
    signed = colour != inks.NEUTRAL or start != 0
    text = signed_number(end - start, unit) if signed else three_figures((end - start) / BYTES_IN[unit])
    return {
        "text": f"<b>{text}</b>",
        "x": index,
        "y": max(start, end) / BYTES_IN[unit],
        "yanchor": "bottom",
        "yshift": 2,
        "showarrow": False,
        "font": {"size": 12, "color": inks.INK},
    }


def signed_number(size: int, unit: Unit) -> str:
    """+10.8, −0.70."""
    text = three_figures(size / BYTES_IN[unit])
    return f"+{text}" if size > 0 else text


def _title(steps: Waterfall, unit: Unit) -> dict[str, Any]:
    text = f"{unit} per GPU left in the pool" if steps.budgeted else f"{unit} per GPU needed, with a minus"
    return {
        "text": text,
        "x": 0,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 18,
        "showarrow": False,
        "font": {"size": 12, "color": inks.INK},
    }


def alternative_text(steps: Waterfall, names: tuple[str, str], unit: Unit) -> str:
    each = ", ".join(f"{step.term} {signed_number(step.gain, unit)}" for step in steps.steps) or "nothing differs"
    before, after = (three_figures(size / BYTES_IN[unit]) for size in (steps.before, steps.after))
    return f"From {before} {unit} in {names[0]} to {after} {unit} in {names[1]}: {each}."
