"""Tables to take along: CSV that a spreadsheet cannot take for formulas, and JSON."""

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import streamlit as st

Cell = str | int | float | bool | None
FORMULA = re.compile(r"[\s\ufeff\u200b]*[=+\-@＝＋－＠]|[\t\r\n]")  # white space is skipped before a formula
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


@dataclass(frozen=True)
class Table:
    """`name` is the file's; cells are bytes, counts and texts as they are, unrounded."""

    name: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def to_csv(table: Table) -> str:
    """RFC 4180 with a header line. A text that a spreadsheet would run as a formula gets an apostrophe before it."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for row in (table.headers, *table.rows):
        writer.writerow([_neutral(cell) for cell in row])
    return out.getvalue()


def _neutral(cell: Cell) -> Cell:
    if not isinstance(cell, str) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}" if FORMULA.match(cell) else cell


def to_json(table: Table) -> str:
    """One object a row."""
    return json.dumps([dict(zip(table.headers, row, strict=True)) for row in table.rows], indent=2, ensure_ascii=False)


def draw(table: Table) -> None:
    """Two quiet buttons under a table."""
    with st.container(horizontal=True, gap="small"):
        _button(table, "CSV", to_csv(table), "text/csv")
        _button(table, "JSON", to_json(table), "application/json")


def _button(table: Table, kind: str, text: str, mime: str) -> None:
    st.download_button(
        kind,
        text.encode(),
        f"kv-atlas-{table.name}.{kind.lower()}",
        mime,
        key=f"{table.name}_{kind.lower()}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )
