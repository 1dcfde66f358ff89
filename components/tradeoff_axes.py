"""Log axes with ticks at powers of two, and titles written above or below them."""

from typing import Any

import numpy as np

from components import inks
from components.format import short_tokens

GRID = inks.faded(inks.NEUTRAL, 0.22)
TITLE = {"size": 12, "color": inks.NEUTRAL}
MOST_TICKS = 14


def log_axis(first: float, last: float, most: int = MOST_TICKS) -> dict[str, Any]:
    """Ticks at powers of two, every other one where there would be more than `most`."""
    powers = np.arange(int(np.ceil(np.log2(first))), int(np.floor(np.log2(last))) + 1)
    step = -(-len(powers) // most)
    ticks = [2 ** int(power) for power in powers[::step]]
    return {
        "type": "log",
        "range": [float(np.log10(first)), float(np.log10(last))],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [short_tokens(tick) for tick in ticks],
        "tickangle": 0,
        "tickfont": {"size": 11},
        "showgrid": True,
        "gridcolor": GRID,
        "zeroline": False,
        "fixedrange": True,
        "automargin": False,
        "title": None,
    }


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """A text in ink. On a log axis the place is given as the logarithm."""
    place = {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": 12, "color": inks.INK}}
    return place | more


def above(text: str) -> dict[str, Any]:
    """The title of the vertical axis, written across above it."""
    return note(text, 0, 1, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=6, font=dict(TITLE))


def below(text: str) -> dict[str, Any]:
    return note(text, 0.5, 0, xref="paper", yref="paper", xanchor="center", yanchor="top", yshift=-20, font=dict(TITLE))
