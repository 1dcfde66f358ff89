"""The waterfall between two rows: the room of one, what each term adds or takes, the room of the other."""

from dataclasses import dataclass
from typing import Any

from components import inks
from components.format import BYTES_IN, Unit, amount, three_figures
from sizing.comparison import Step, Waterfall

HEIGHT = 300
LABEL_SHARE = 0.1  # of the figure's height: what a label takes
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
    bars = bars_of(steps, names)
    ends = [0, *(bar.start / BYTES_IN[unit] for bar in bars), *(bar.end / BYTES_IN[unit] for bar in bars)]
    crowded = LABEL_SHARE * (max(ends) - min(ends))
    return {
        "data": [_trace(bars, unit)],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 34, "b": 40, "l": 34, "r": 0},
            "showlegend": False,
            "barcornerradius": 2,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {
                "fixedrange": True,
                "tickvals": list(range(len(bars))),
                "ticktext": [bar.name for bar in bars],
                "tickfont": {"size": 11},
                "automargin": True,
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {"fixedrange": True, "tickfont": {"size": 11}, "zeroline": False, "nticks": 7},
            "shapes": [_zero(len(bars)), *_connectors(bars, unit)],
            "annotations": [
                _title(steps, unit),
                *(_value(index, bar, unit, crowded) for index, bar in enumerate(bars)),
            ],
        },
    }


@dataclass(frozen=True)
class Bar:
    """From `start` to `end` in bytes; a total says its amount, a step the change."""

    name: str
    start: int
    end: int
    colour: str
    total: bool = False


def bars_of(steps: Waterfall, names: tuple[str, str]) -> list[Bar]:
    word = "Room in" if steps.budgeted else "Need of"
    bars, level = [Bar(f"{word}<br>{names[0]}", 0, steps.before, inks.NEUTRAL, True)], steps.before
    for step in steps.steps:
        bars.append(Bar(TWO_LINES.get(step.term, step.term), level, level + step.gain, colour_of(step)))
        level += step.gain
    return [*bars, Bar(f"{word}<br>{names[1]}", 0, steps.after, inks.NEUTRAL, True)]


def colour_of(step: Step) -> str:
    return COLOURS.get(step.term, inks.NEUTRAL)


def _trace(bars: list[Bar], unit: Unit) -> dict[str, Any]:
    size = BYTES_IN[unit]
    return {
        "type": "bar",
        "x": list(range(len(bars))),
        "base": [bar.start / size for bar in bars],
        "y": [(bar.end - bar.start) / size for bar in bars],
        "width": 0.62,
        "marker": {"color": [bar.colour for bar in bars], "line": {"width": 0}},
        "customdata": [amount(bar.end - bar.start, unit) for bar in bars],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _zero(bars: int) -> dict[str, Any]:
    """The budget."""
    line = {"color": inks.INK, "width": 2}
    return {"type": "line", "x0": -0.5, "x1": bars - 0.5, "y0": 0, "y1": 0, "line": line}


def _connectors(bars: list[Bar], unit: Unit) -> list[dict[str, Any]]:
    line = {"color": inks.NEUTRAL, "width": 1}
    levels = [bar.end for bar in bars[:-1]]
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


def _value(index: int, bar: Bar, unit: Unit, crowded: float) -> dict[str, Any]:
    """Above the bar, or below one whose label would lie on the zero line, which is `crowded` below it."""
    start, end = bar.start, bar.end
    below = -crowded < max(start, end) / BYTES_IN[unit] < 0
    return {
        "text": f"<b>{step_text(bar, unit)}</b>",
        "x": index,
        "y": (min if below else max)(start, end) / BYTES_IN[unit],
        "yanchor": "top" if below else "bottom",
        "yshift": -2 if below else 2,
        "showarrow": False,
        "font": {"size": 12, "color": inks.INK},
    }


def step_text(bar: Bar, unit: Unit) -> str:
    size = bar.end - bar.start
    return three_figures(size / BYTES_IN[unit]) if bar.total else signed_number(size, unit)


def signed_number(size: int, unit: Unit) -> str:
    """+10.8, −0.70; what would read 0.00 with its own unit: −4.20 MiB."""
    sign = "+" if size > 0 else "−" if size < 0 else ""
    small = abs(size) < BYTES_IN[unit] / 100
    return sign + (amount(abs(size), unit) if small else three_figures(abs(size) / BYTES_IN[unit]))


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
