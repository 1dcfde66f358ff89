"""The report of a scenario or of a comparison: one HTML file with figures, tables, assumptions, grades and its link."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from components import choices, compare_table, compare_waterfall, compare_wording, metrics, terms_table, wording
from components import compare_figure as figure
from components import export_html as html
from components import export_svg as svg
from components.command import command
from components.compare_prices import rent_of
from components.compare_rows import Row, chosen, scenario_line
from components.format import Unit, short_tokens
from components.legend import of_bar
from components.memory_bar import alternative_text
from components.remedies import SHOWN, gain
from components.scenario_state import Held
from components.segments import bar_of
from components.setting_words import setting_words
from components.solve import Outcome
from components.start_command import start_command, start_notes
from sizing.comparison import waterfall
from sizing.engines.plan import EnginePlan
from sizing.remedies import remedies
from sizing.report import Report

ICON = re.compile(r"^:\w+\[:material/\w+:\] ")
UNITS = "sizes in GiB (2^30 bytes) and GB (10^9 bytes)"


@dataclass(frozen=True)
class Frame:
    """What every report carries: its link, its day, the unit that figures are in."""

    link: str
    day: date
    unit: Unit


def scenario_report(held: Held, outcome: Outcome, frame: Frame) -> str:
    """Of an answered scenario."""
    planned, report = outcome.planned, outcome.report
    assert planned is not None and report is not None and outcome.spec is not None
    verdict = ICON.sub("", wording.verdict_line(planned, report, frame.unit))
    line = wording.scenario_line(held, report.scenario, outcome.spec, setting_words(outcome.asked).values())
    parts = [
        html.quiet(f"KV Atlas report, {html.dated(frame.day)} · {line}"),
        html.headline(verdict),
        html.quiet(wording.how_sure(report, frame.unit)),
        html.figures(_figures(planned, report, frame.unit)),
        *_memory(planned, report, frame.unit),
        *_remedies(outcome, planned, report, frame.unit),
        html.heading("Terms"),
        html.table(
            terms_table.headers(report),
            terms_table.rows(planned, report, outcome.accelerator),
            terms_table.number_columns(report),
        ),
        *_assumptions(report),
        *_lines(held, report),
        *_start(outcome, planned),
        _footer(frame, [report]),
    ]
    return html.document(f"KV Atlas: {verdict}", parts)


def _figures(planned: EnginePlan, report: Report, unit: Unit) -> list[tuple[str, str, str]]:
    printed = report.log.lines
    size = (
        ("KV cache size, tokens", *metrics.printed_size(report))
        if printed
        else ("KV pool", *metrics.pool(report, unit))
    )
    return [
        ("Max requests", *metrics.max_requests(report)),
        ("Max tokens", *metrics.max_tokens(report)),
        size,
        ("One request", *metrics.one_request(planned, unit)),
    ]


def _memory(planned: EnginePlan, report: Report, unit: Unit) -> Iterator[str]:
    bar = bar_of(planned)
    yield svg.memory_svg(bar, unit, alternative_text([bar], unit))
    yield html.legend(wording.bar_lead(report.scenario, unit), of_bar(bar, unit))


def _remedies(outcome: Outcome, planned: EnginePlan, report: Report, unit: Unit) -> Iterator[str]:
    """Single changes, as Plan offers them."""
    found = remedies(outcome.asked, planned, outcome.accelerator)[:SHOWN] if outcome.asked else ()
    if not found:
        return
    short = report.verdict.state == "short"
    yield html.heading("Smallest changes that make it fit" if short else "Room for more")
    rows = [
        [
            each.change,
            gain(each, unit),
            "any" if each.max_batch is None else f"{each.max_batch:,}",
            "fits" if each.fits else "does not fit",
        ]
        for each in found
    ]
    length = short_tokens(report.scenario.context_length or 0)
    yield html.table(["Change", f"Gain, {unit}", f"Requests at {length}", "Verdict"], rows, (1, 2))


def _assumptions(report: Report) -> Iterator[str]:
    if report.notes:
        yield html.heading("Assumptions and notes")
        yield html.sentences(report.notes)


def _lines(held: Held, report: Report) -> Iterator[str]:
    if report.log.lines:
        yield html.heading("What the log will say")
        yield html.code("\n".join(report.log.lines))
    yield html.heading("The same answer on a command line")
    yield html.code(command(held.values))
    if held.own_config:
        yield html.quiet("Save this as config.json beside the command.")
        yield html.code(held.own_config)


def _start(outcome: Outcome, planned: EnginePlan) -> Iterator[str]:
    start = start_command(outcome.asked, planned) if outcome.asked else None
    if start and outcome.asked:
        yield html.heading("Run it")
        yield html.code(start)
        yield html.sentences(start_notes(outcome.asked, planned))


def comparison_report(held: Held, rows: Sequence[Row], own_prices: Mapping[str, float], frame: Frame) -> str:
    """Of several scenarios: rows, differences, waterfall, prices, and each row's scenario and grades."""
    said = ICON.sub("", compare_wording.headline(rows, frame.unit, str))
    parts = [
        html.quiet(f"KV Atlas report, {html.dated(frame.day)} · {scenario_line(rows)}"),
        html.headline(said),
        html.quiet(compare_wording.how_sure(rows)),
        svg.rows_svg(rows, frame.unit, figure.alternative_text(rows, frame.unit)),
        html.legend(f"{frame.unit} per GPU", figure.legend_of(rows, frame.unit)),
        *_differences(held, rows, frame.unit),
        *_steps(held, rows, frame.unit),
        *_scenarios(rows),
        *_prices(rows, own_prices),
        _footer(frame, [row.report for row in rows if row.report]),
    ]
    return html.document(f"KV Atlas: {said}", parts)


def _differences(held: Held, rows: Sequence[Row], unit: Unit) -> Iterator[str]:
    baseline = chosen(held.view, rows, "baseline", 0)
    headers, cells = compare_table.difference_rows(rows, baseline, unit)
    yield html.heading(f"Differences from {compare_wording.called(baseline.key)}, {unit} per GPU")
    texts = [[f"{cell.value} {cell.difference}".strip() for cell in row] for row in cells]
    yield html.table(headers, texts, range(1, len(headers) - 1))


def _steps(held: Held, rows: Sequence[Row], unit: Unit) -> Iterator[str]:
    before = chosen(held.view, rows, "baseline", 0)
    after = chosen(held.view, rows, "against", len(rows) - 1)
    if before.planned is None or after.planned is None or before is after:
        return
    names = before.key, after.key
    steps = waterfall(before.planned, after.planned)
    what = "room" if steps.budgeted else "need"
    yield html.heading(f"From {before.key} to {after.key}: what changes the {what}, {unit} per GPU")
    yield svg.waterfall_svg(steps, names, unit, compare_waterfall.alternative_text(steps, names, unit))


def _scenarios(rows: Sequence[Row]) -> Iterator[str]:
    yield html.heading("Scenarios, assumptions and grades")
    for row in rows:
        if row.report is None or row.outcome.spec is None:
            fault = row.outcome.fault.message if row.outcome.fault else ""
            yield html.sentences([f"{row.key}  {row.label}: cannot be. {fault}"])
            continue
        held = Held(dict(row.pin.values), "", {}, accelerator_name=row.pin.accelerator_name)
        grades = ", ".join(f"{name} {getattr(row.report.grades, field)}" for field, name in GRADES.items())
        line = wording.scenario_line(
            held, row.report.scenario, row.outcome.spec, setting_words(row.outcome.asked).values()
        )
        yield html.sentences([f"{row.key}  {line}."])
        yield html.quiet(f"How sure: {grades}. {' '.join(row.report.notes)}")


GRADES = {
    "weights": "weights",
    "kv": "KV",
    "state": "state",
    "activation": "activations",
    "graphs": "CUDA graphs",
    "runtime": "runtime",
}


def _prices(rows: Sequence[Row], own_prices: Mapping[str, float]) -> Iterator[str]:
    used = dict.fromkeys(row.report.scenario.accelerator for row in rows if row.report)
    rents = {each: rent for each in used if each and (rent := rent_of(each, own_prices))}
    if rents:
        yield html.heading("Prices")
        cells = [[choices.accelerator_label(each), f"{r.usd:,.2f}", r.date, r.source] for each, r in rents.items()]
        yield html.table(["Accelerator", "$ per GPU-hour", "Dated", "From"], cells, (1,))


def _footer(frame: Frame, reports: Sequence[Report]) -> str:
    rules = dict.fromkeys(wording.engine_name(report.scenario) for report in reports)
    return html.footer(frame.link, f"{html.dated(frame.day)} · {UNITS} · rules of {', '.join(rules)}")
