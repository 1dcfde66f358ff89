"""The rows as a table: what is shown with differences from a baseline, and everything in bytes to take along."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from components.compare_rows import Row
from components.export_tables import Cell, Table
from components.format import BYTES_IN, Unit, three_figures, two_decimals
from components.plain_table import TABLE, scrolling
from sizing.report import Footprint, Report

TERMS = {
    "weights": "weights_bytes",
    "draft": "draft_bytes",
    "encoder": "encoder_bytes",
    "activations": "activation_bytes",
    "cuda_graphs": "graph_bytes",
    "runtime": "runtime_bytes",
    "recurrent_state": "state_bytes",
    "kv_needed": "kv_bytes",
    "left_in_budget": "free_bytes",
    "outside_budget": "outside_budget_bytes",
    "memory": "total_bytes",
    "pool": "available_kv_bytes",
}
CELL = "padding:5px 8px;border-bottom:1px solid rgba(124,133,148,.28);white-space:nowrap"
VERDICTS = {"fits": "✓ fits", "tight": "✓ tight", "short": "✕"}


@dataclass(frozen=True)
class Shown:
    """A cell: the value, and how it differs from the baseline's, or an empty text."""

    value: str
    difference: str = ""


Take = Callable[[Footprint], int]


def _rest(gpu: Footprint) -> int:
    return gpu.activation_bytes + gpu.graph_bytes + gpu.runtime_bytes


def _weights(gpu: Footprint) -> int:
    return gpu.weights_bytes + gpu.draft_bytes + gpu.encoder_bytes


SIZES: Mapping[str, Take] = {
    "Weights": _weights,
    "Rest": _rest,
    "State": lambda gpu: gpu.state_bytes,
    "KV cache": lambda gpu: gpu.kv_bytes,
}


def difference_rows(rows: Sequence[Row], baseline: Row, unit: Unit) -> tuple[list[str], list[list[Shown]]]:
    """Headers and cells. Terms that no row has are left out."""
    reports = [row.report for row in rows if row.report]
    terms = [name for name, take in SIZES.items() if name == "KV cache" or any(take(each.per_gpu) for each in reports)]
    headers = ["Row", *terms, "At once", "Max tokens", "$/h", "Verdict"]
    return headers, [_cells(row, baseline, terms, unit) for row in rows]


def _cells(row: Row, baseline: Row, terms: Sequence[str], unit: Unit) -> list[Shown]:
    if row.report is None:
        return [Shown(row.key), *[Shown("–")] * (len(terms) + 3), Shown("cannot be")]
    capacity, known = row.report.capacity, row.report.verdict.fits is not None
    sizes = [_size(SIZES[name], row.report, baseline.report, unit) for name in terms]
    most = "no limit" if capacity.max_batch_at_context is None else f"{capacity.max_batch_at_context:,}"
    longest = "–" if capacity.max_context_at_batch is None else f"{capacity.max_context_at_batch:,}"
    usd = "–" if row.usd is None else f"{row.usd:,.2f}"
    return [
        Shown(row.key),
        *sizes,
        Shown(most if known else "–"),
        Shown(longest),
        Shown(usd),
        Shown(_verdict(row, unit)),
    ]


def _size(take: Take, report: Report, baseline: Report | None, unit: Unit) -> Shown:
    size = take(report.per_gpu)
    return Shown(two_decimals(size, unit), signed(size - take(baseline.per_gpu), unit) if baseline else "")


def signed(size: int, unit: Unit) -> str:
    """+9.70, −34.0; empty for what would read 0.00."""
    text = three_figures(size / BYTES_IN[unit])
    return "" if text in ("0.00", "−0.00") else f"+{text}" if size > 0 else text


def _verdict(row: Row, unit: Unit) -> str:
    assert row.report is not None
    verdict = row.report.verdict
    if verdict.state is None:
        return "no memory known"
    short = f" −{two_decimals(verdict.short_by_bytes or 0, unit)}" if verdict.state == "short" else ""
    return VERDICTS[verdict.state] + short


def draw(headers: Sequence[str], rows: Sequence[Sequence[Shown]]) -> None:
    """As inline HTML that takes the theme's ink; differences stand back behind their values."""
    last = len(headers) - 1
    head = "".join(
        f'<th scope="col" style="{CELL};font-weight:400;text-align:{_side(index, last)}">'
        f'<span style="opacity:.75">{escape(name)}</span></th>'
        for index, name in enumerate(headers)
    )
    body = "".join(f"<tr>{''.join(_cell(cell, i, last) for i, cell in enumerate(row))}</tr>" for row in rows)
    table = f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f"<div {scrolling('Differences')}>{table}</div>")


def _side(index: int, last: int) -> str:
    return "left" if index in (0, last) else "right"


def _cell(cell: Shown, index: int, last: int) -> str:
    tag, scope = ("th", ' scope="row"') if index == 0 else ("td", "")
    change = f' <span style="opacity:.72">{escape(cell.difference)}</span>' if cell.difference else ""
    style = f"{CELL};text-align:{_side(index, last)}"
    weight = ";font-weight:600" if index == 0 else ""
    return f'<{tag}{scope} style="{style}{weight}">{escape(cell.value)}{change}</{tag}>'


def full_table(rows: Sequence[Row]) -> Table:
    """Every term in bytes, per GPU, with the answers and the grades."""
    headers = ["row", "scenario", "verdict", "short_by_bytes", *[f"{name}_bytes" for name in TERMS]]
    headers += ["max_requests", "max_tokens", "gpus", "usd_per_hour", "grade_weights", "grade_kv", "fault"]
    return Table("comparison", headers, [_full(row) for row in rows])


def _full(row: Row) -> list[Cell]:
    report, fault = row.report, row.outcome.fault
    if report is None:
        return [row.key, row.label, "cannot be", *[None] * (len(TERMS) + 7), fault.message if fault else ""]
    verdict, capacity = report.verdict, report.capacity
    return [
        row.key,
        row.label,
        verdict.state or "no memory known",
        verdict.short_by_bytes,
        *[getattr(report.per_gpu, field) for field in TERMS.values()],
        capacity.max_batch_at_context,
        capacity.max_context_at_batch,
        report.scenario.placement.gpus,
        row.usd,
        report.grades.weights,
        report.grades.kv,
        "",
    ]
