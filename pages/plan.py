"""Plan: does it fit, and with how much room?"""

from collections.abc import Collection

import streamlit as st

from components import (
    context_table,
    formula_view,
    layer_strip,
    legend,
    media_line,
    memory_bar,
    plain_table,
    terms_table,
    wording,
)
from components.commands import draw as draw_commands
from components.formula import formula_lines
from components.layer_kinds import headline
from components.limits import draw as draw_limits
from components.metrics import draw as draw_metrics
from components.page_top import open_scenario
from components.plain_text import literal
from components.remarks import draw as draw_remarks
from components.remedies import draw as draw_remedies
from components.scenario_state import Held
from components.segments import bar_of, bars_of
from components.solve import Outcome
from sizing.engines.plan import EnginePlan
from sizing.remedies import remedies
from sizing.report import Report


def answer(held: Held, outcome: Outcome, planned: EnginePlan, report: Report) -> list[str]:
    """Verdict, figures and the memory bar; returns the remarks made."""
    st.title(wording.verdict_line(planned, report, held.units), anchor=False)
    st.caption(wording.how_sure(report, held.units))
    said = draw_remarks(outcome, report)
    draw_metrics(planned, report, held.units)
    media_line.draw(report, held.units)
    bars = bars_of(planned)
    with st.container(gap="xxsmall"):
        st.plotly_chart(
            memory_bar.memory_bar(bars, held.units),
            key="memory_bar",
            config=memory_bar.CONFIG,
            alt=memory_bar.alternative_text(bars, held.units),
        )
        legend.draw(wording.bar_lead(report.scenario, held.units), legend.of_bar(bar_of(planned), held.units))
    return said


def ways(held: Held, outcome: Outcome, planned: EnginePlan, report: Report) -> None:
    """What to change, beside what requests of several lengths take. A scenario at fault has ways out of its own."""
    with st.grid(2, min_column_width=370, gap=("small", "large")):
        if outcome.asked and not outcome.fault:
            with st.container():
                draw_remedies(remedies(outcome.asked, planned, outcome.accelerator), report, held.units)
        with st.container():
            known = report.per_gpu.available_kv_bytes is not None
            st.header("KV pool used, by length and load" if known else "KV needed, by length and load", anchor=False)
            st.table(context_table.context_table(planned, held.units), border="horizontal", hide_index=True)


def layers(held: Held, planned: EnginePlan) -> None:
    st.header(headline(planned.spec, planned.scenario.context_length or 1), anchor=False)
    with st.container(gap="xxsmall"):
        st.plotly_chart(
            layer_strip.layer_strip(planned.spec),
            key="layer_strip",
            config=memory_bar.CONFIG,
            alt=layer_strip.alternative_text(planned.spec),
        )
        legend.draw("", layer_strip.strip_legend(planned, held.units))


def details(held: Held, outcome: Outcome, planned: EnginePlan, report: Report, said: Collection[str]) -> None:
    """Only the open tab is drawn. Notes that were `said` above are not said again."""
    names = ["Terms", "Formula", "Limits", "Start-up log", "Command"]
    terms, formula, limits, log, start = st.tabs(names, key="details", on_change="rerun")
    if terms.open:
        with terms:
            cells = terms_table.rows(planned, report, outcome.accelerator)
            plain_table.draw(terms_table.headers(report), cells, terms_table.number_columns(report))
            for note in (wording.reserved_line(planned, held.units), *report.notes):
                if note and note not in said:
                    st.caption(literal(note))
    if formula.open:
        with formula:
            lines = formula_lines(planned)
            formula_view.draw(lines)
            st.caption(wording.formula_line(lines, report, held.units))
            plain_table.draw(["Of one request", kept_on(report)], wording.kept_rows(planned, held.units), numbers=[1])
    if limits.open:
        with limits:
            draw_limits(outcome)
    if log.open:
        with log:
            if report.log.lines:
                st.code("\n".join(report.log.lines), language=None, wrap_lines=True)
            else:
                st.caption("This engine prints nothing about its cache at start-up.")
    if start.open:
        with start:
            draw_commands(held, outcome, planned)


def kept_on(report: Report) -> str:
    return "Kept on each GPU" if report.scenario.placement.gpus > 1 else "Kept"


held, outcome = open_scenario("plan")
if outcome.planned and outcome.report:
    said = [] if outcome.fault else answer(held, outcome, outcome.planned, outcome.report)
    ways(held, outcome, outcome.planned, outcome.report)
    layers(held, outcome.planned)
    details(held, outcome, outcome.planned, outcome.report, said)
