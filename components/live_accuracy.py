"""Live runs on the Accuracy page: each run that is recorded, loaded or measured in this visit, and its prediction."""

import streamlit as st

from components import plain_table
from components.live_controls import Chosen, known_runs, run_name
from live.prediction import predicted_of, residuals
from model_catalog.fields import ConfigError
from sizing.scenario import ScenarioError

COLUMNS = ["Run", "Device", "Steps", "Cache at the end, B", "Predicted, B", "Largest difference, B"]


def draw() -> None:
    rows = [row for chosen in known_runs().values() if (row := row_of(chosen))]
    if not rows:
        return
    st.header("Live runs", anchor=False)
    plain_table.draw(COLUMNS, rows, numbers=[2, 3, 4, 5])
    st.caption("Bytes of the cache tensors of really run models. Runs of this visit come from the Live page.")


def row_of(chosen: Chosen) -> list[str] | None:
    """None for a run without a measured step or a config that can be read."""
    run = chosen.run
    if not run.steps.tokens:
        return None
    try:
        predicted = predicted_of(run)
        worst = max(residuals(run, predicted), key=abs)
    except (ConfigError, ScenarioError):
        return None
    numbers = (len(run.steps.tokens), run.steps.cache[-1], predicted.at(run.steps.tokens[-1]))
    difference = f"{worst:+,}".replace("-", "−") if worst else "0"
    return [run_name(run), chosen.receipt.device.name, *(f"{number:,}" for number in numbers), difference]
