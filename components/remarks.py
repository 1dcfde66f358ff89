"""What a reader must know about the answer: what was assumed of the model, and wishes beyond its limits."""

import streamlit as st

from components.plain_text import literal
from components.solve import Outcome
from sizing.memory import shared_notes
from sizing.report import Report
from sizing.shared_host import host_overflow

MOST = 4


def draw(outcome: Outcome, report: Report) -> list[str]:
    """Returns what was said."""
    remarks = remarks_on(outcome, report)
    for remark in remarks[:MOST]:
        st.caption(f":orange[:material/info:] {literal(remark)}")
    if len(remarks) > MOST:
        st.caption(f"{len(remarks) - MOST} more under Terms.")
    return remarks[:MOST]


def remarks_on(outcome: Outcome, report: Report) -> list[str]:
    assert outcome.spec is not None
    remarks = [doubt.message for doubt in outcome.spec.doubts if doubt.touches_kv or doubt.touches_weights]
    limit, context = outcome.spec.max_context, report.scenario.context_length or 0
    if limit is not None and context > limit:
        remarks.append(f"{context:,} tokens are more than the {limit:,} this model was made for.")
    if report.verdict.starts_with:
        remarks.append(report.verdict.starts_with)
    if outcome.asked:
        remarks += shared_notes(outcome.asked, outcome.accelerator)
    if outcome.planned and (overflow := host_overflow(outcome.planned, outcome.accelerator)):
        remarks.append(overflow)
    return list(dict.fromkeys(remarks))
