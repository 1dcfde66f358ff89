"""A job that is going on: the step it is in, the chart so far, and a way to stop it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from components import live_result
from live import runner
from live.prediction import predicted_of
from live.receipts import Receipt
from live.runner import Busy, Job

JOB = "live_job"
FAULT = "live_fault"
START_SLACK = 90.0  # seconds for importing torch and loading the model, beside the run's own limit


def current() -> Job | None:
    return st.session_state.get(JOB)


def start(kind: str, payload: Mapping[str, Any], seconds_limit: float, about: str = "") -> None:
    """Start a job and draw the page again with it. `about` says what the job is about."""
    st.session_state.pop(FAULT, None)
    try:
        st.session_state[JOB] = runner.start(kind, payload, seconds_limit + START_SLACK, about)
    except Busy as error:
        st.session_state[FAULT] = (kind, str(error))
    st.rerun()


def start_button(label: str, icon: str, key: str, *, ready: bool) -> bool:
    """Not a callback: a number that is being typed arrives together with the click, and its new value must count."""
    return st.button(label, icon=icon, width="stretch", key=key, disabled=not ready)


def fault_of(kind: str) -> str | None:
    """The sentence of this kind's last failure."""
    failed, message = st.session_state.get(FAULT, (None, None))
    return message if failed == kind else None


def draw(job: Job, result_key: str) -> None:
    """Redraws itself every second; when the job ends, its result or fault is kept and the page drawn again."""

    @st.fragment(run_every=1.0)
    def watch() -> None:
        job.look()
        if job.ended:
            _finish(job, result_key)
            st.rerun()
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f":material/hourglass_top: {job.text}", width="content")
            st.space("stretch")
            st.button("Stop", icon=":material/stop:", key="live_stop", on_click=job.stop)
        _so_far(job)

    watch()


def _finish(job: Job, result_key: str) -> None:
    st.session_state.pop(JOB, None)
    if job.result is not None:
        measured = job.kind == "measure"
        st.session_state[result_key] = Receipt.model_validate(job.result) if measured else (job.about, job.result)
    if job.fault:
        st.session_state[FAULT] = (job.kind, job.fault)


def _so_far(job: Job) -> None:
    """The growth chart of what has been measured until now."""
    if job.kind != "measure" or job.result is None:
        return
    try:
        run = Receipt.model_validate(job.result).runs[0]
    except ValidationError:
        return
    if run.steps.tokens:
        live_result.growth(run, predicted_of(run), playable=False)
