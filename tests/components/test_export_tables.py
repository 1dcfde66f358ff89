"""Tables to take along: what a spreadsheet must not run, and that nothing else changes."""

import csv
import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.export_tables import Table, to_csv, to_json


def cells(table: Table) -> list[list[str]]:
    return list(csv.reader(StringIO(to_csv(table), newline="")))


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =1", "\t=1", "\r=1", "\ufeff=1", "＝1+1", '="a"']
)
def test_formulas_are_neutralised(text: str) -> None:
    assert cells(Table("t", ["name"], [[text]])) == [["name"], [f"'{text}"]]


@pytest.mark.parametrize(
    "cell", [-5, -1.5, "−46.3", "-12", "google/gemma-3-27b-it", "a,b", 'say "x"', "two\nlines", ""]
)
def test_numbers_and_plain_texts_stay(cell: str | float) -> None:
    assert cells(Table("t", ["name"], [[cell]]))[1] == ([str(cell)] if cell != "" else [""])


@given(
    st.lists(
        st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=2, max_size=2
    )
)
def test_no_cell_starts_a_formula(texts: list[str]) -> None:
    for cell in cells(Table("t", ["a", "b"], [texts]))[1]:
        first = cell.lstrip("\ufeff\u200b \t\r\n")[:1]
        assert first not in tuple("=+@") or cell.replace("+", "", 1).replace(".", "", 1).isdigit()


def test_json_keeps_numbers_and_what_is_missing() -> None:
    table = Table("t", ["name", "bytes", "fits", "price"], [["=x", 16060522496, True, None]])
    assert json.loads(to_json(table)) == [{"name": "=x", "bytes": 16060522496, "fits": True, "price": None}]
