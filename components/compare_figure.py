"""All rows in one figure: a stacked bar a row on one axis, its name above it, its result at the right."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from components import inks
from components.compare_rows import Row
from components.compare_wording import result
from components.format import BYTES_IN, Unit, amount
from components.legend import Item, of_bar
from components.memory_bar import marker
from components.segments import NO_ROOM, Segment

ROW_HEIGHT = 54
MARGIN_TOP, MARGIN_BOTTOM = 44, 6
BAR_WIDTH = 0.44
BAR_AT = 0.18  # the bar stands below the middle of its row, which leaves the upper part to the name
GAP = 0.0022
LONGEST_LABEL = 110
CONFIG = {
    "displayModeBar": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "png", "filename": "kv-atlas-comparison", "scale": 2},
}


def comparison_figure(rows: Sequence[Row], unit: Unit) -> dict[str, Any]:
    """The figure as a plain dict; the axis is in `unit`, and names are escaped."""
    extent = max((row.bar.extent for row in rows if row.bar), default=1)
    return {
        "data": _traces(rows, extent, unit),
        "layout": {
            "height": MARGIN_TOP + MARGIN_BOTTOM + ROW_HEIGHT * len(rows),
            "margin": {"t": MARGIN_TOP, "b": MARGIN_BOTTOM, "l": 0, "r": 0},
            "barmode": "overlay",
            "barcornerradius": 2,
            "showlegend": False,
            "hoverlabel": {"font": {"size": 12}},
            "modebar": {"orientation": "h", "bgcolor": "rgba(0,0,0,0)"},
            "xaxis": _axis(extent, unit),
            "yaxis": {"visible": False, "fixedrange": True, "range": [len(rows) - 0.5, -0.5]},
            "shapes": [shape for index, row in enumerate(rows) for shape in _budget(index, row, unit)],
            "annotations": [note for index, row in enumerate(rows) for note in _notes(index, row, unit)],
        },
    }


def _axis(extent: int, unit: Unit) -> dict[str, Any]:
    return {
        "side": "top",
        "fixedrange": True,
        "range": [0, extent / BYTES_IN[unit] * 1.002],
        "showgrid": False,
        "zeroline": False,
        "tickfont": {"size": 11},
        "nticks": 8,
        "title": {"text": ""},
    }


def _traces(rows: Sequence[Row], extent: int, unit: Unit) -> list[dict[str, Any]]:
    """One trace a term, with a bar in each row that has it."""
    terms: dict[str, list[tuple[int, Row, Segment]]] = {}
    for index, row in enumerate(rows):
        for segment in row.bar.segments if row.bar else ():
            terms.setdefault(_term(segment.name), []).append((index, row, segment))
    return [_trace(name, found, extent, unit) for name, found in terms.items()]


def _term(name: str) -> str:
    """One name for all rows: what a row needs may fit in part or find no room."""
    return {"KV that fits": "KV needed", NO_ROOM: "Short"}.get(name, name)


def _trace(name: str, found: Sequence[tuple[int, Row, Segment]], extent: int, unit: Unit) -> dict[str, Any]:
    hairline = extent * GAP
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [index + BAR_AT for index, _, _ in found],
        "x": [max(segment.size - hairline, hairline) / BYTES_IN[unit] for _, _, segment in found],
        "base": [segment.start / BYTES_IN[unit] for _, _, segment in found],
        "width": BAR_WIDTH,
        "marker": marker(found[0][2]),
        "customdata": [f"{row.key} · {_both(segment.size, unit)}" for _, row, segment in found],
        "hovertemplate": f"%{{customdata}}<extra>{name}</extra>",
    }


def _both(size: int, unit: Unit) -> str:
    other: Unit = "GB" if unit == "GiB" else "GiB"
    return f"{amount(size, unit)} · {amount(size, other)}"


def _budget(index: int, row: Row, unit: Unit) -> Iterator[dict[str, Any]]:
    if row.bar and row.bar.budget is not None:
        at, middle, reach = row.bar.budget / BYTES_IN[unit], index + BAR_AT, BAR_WIDTH / 2 + 0.06
        line = {"color": inks.INK, "width": 2}
        yield {"type": "line", "x0": at, "x1": at, "y0": middle - reach, "y1": middle + reach, "line": line}


def _notes(index: int, row: Row, unit: Unit) -> Iterator[dict[str, Any]]:
    label = row.label if len(row.label) <= LONGEST_LABEL else f"{row.label[: LONGEST_LABEL - 1]}…"
    yield _note(index, f"<b>{row.key}</b>  {escape(label)}", "left")
    word, number = result(row, unit)
    bold = f"<b>{number}</b>"
    said = f"{bold} {word}" if word == "at once" else f"{word} {bold}" if number else word
    # On a phone the result's ground covers the end of a long name.
    yield _note(index, f"\u00a0\u00a0{said}", "right") | {"bgcolor": inks.PAPER}


def _note(index: int, text: str, side: str) -> dict[str, Any]:
    return {
        "text": text,
        "x": 0 if side == "left" else 1,
        "xref": "paper",
        "xanchor": side,
        "y": index + BAR_AT - BAR_WIDTH / 2,
        "yanchor": "bottom",
        "yshift": 1,
        "showarrow": False,
        "font": {"size": 12, "color": inks.INK},
    }


def alternative_text(rows: Sequence[Row], unit: Unit) -> str:
    return "Memory of one GPU by scenario. " + " ".join(f"{_sentence(row, unit)}." for row in rows)


def _sentence(row: Row, unit: Unit) -> str:
    if row.bar is None:
        return f"{row.key}, {row.label}: cannot be"
    terms = ", ".join(f"{segment.name} {amount(segment.size, unit)}" for segment in row.bar.segments)
    return f"{row.key}, {row.label}: {terms}; {' '.join(result(row, unit))}"


def legend_of(rows: Sequence[Row], unit: Unit) -> list[Item]:
    """Each term once, without a value, in the order of the bars."""
    items: dict[str, Item] = {}
    for row in rows:
        for item in of_bar(row.bar, unit) if row.bar else ():
            name = _term(item.name)
            items.setdefault(name, replace(item, name=name, value=""))
    last = ("Short", "Reserved, unused", "Other processes")
    return sorted(items.values(), key=lambda item: last.index(item.name) if item.name in last else -1)
