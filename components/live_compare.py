"""Two runs side by side, as a table."""

import streamlit as st

from components import live_words, plain_table
from components.live_controls import Chosen, pick
from live.prediction import growth_of, held_ratio, predicted_of, residuals, times_of
from live.receipts import Run
from model_catalog.fields import ConfigError
from sizing.scenario import ScenarioError

NONE = "–"


def draw(chosen: Chosen, others: dict[str, Chosen]) -> None:
    """Offers every other run at hand."""
    rest = {"": chosen, **{name: other for name, other in others.items() if other.run is not chosen.run}}
    if len(rest) < 2:
        return
    st.header("Beside another run", anchor=False)
    other = pick("Compare with", rest, "live_other")
    if other is None or other is chosen:
        return
    left, right = facts(chosen.run), facts(other.run)
    rows = [[name, left[name], right[name]] for name in left]
    device = [["Device", chosen.receipt.device.name, other.receipt.device.name]]
    versions = [["torch", *(each.receipt.versions.get("torch", NONE) for each in (chosen, other))]]
    plain_table.draw(["", "This run", other.name], [*device, *versions, *rows], numbers=[1, 2])


def facts(run: Run) -> dict[str, str]:
    """What is compared, in words."""
    try:
        predicted = predicted_of(run)
        growth, off = growth_of(run, predicted), [residual for residual in residuals(run, predicted) if residual]
    except (ConfigError, ScenarioError):
        growth, off = None, []
    times, ratio = times_of(run), held_ratio(run)
    return {
        "Steps": f"{len(run.steps.tokens):,}",
        "Steps that differ from predicted": f"{len(off):,}",
        "Measured per token": live_words.signed(round(growth.measured.slope / run.settings.batch)) if growth else NONE,
        "Predicted per token": live_words.signed(growth.slope // run.settings.batch) if growth else NONE,
        "Reserved by torch": f"{ratio:,.1f}× the cache" if ratio else NONE,
        "First token": live_words.milliseconds(times.first) if times else NONE,
        "Time per token": live_words.milliseconds(times.each) if times and times.each is not None else NONE,
    }
