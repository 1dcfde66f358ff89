"""Live: does reality agree? Measured cache growth beside the prediction, dry runs, running servers."""

import streamlit as st

from components import live_controls, live_dry_run, live_job, live_result, live_server, wording
from components.frame import enter
from components.live_controls import Chosen
from components.scenario_state import Held, open_state, publish
from components.solve import Outcome, solve
from live.families import FAMILIES
from live.memory import free_host_bytes, need_of
from live.operator import Allowed, read_allowed
from live.prediction import Predicted
from live.receipts import Receipt, Settings
from model_catalog.importers import read_config
from sizing.scenario import ScenarioError

WOULD_SHOW = (
    "A small model with random weights is prefilled and decoded here, token by token. After each token the bytes of "
    "its cache tensors, what the allocator and the driver hold, and the time are measured and laid over the prediction."
)


def recorded() -> None:
    """A committed or loaded run, played back."""
    with st.sidebar:
        runs = live_controls.known_runs()
        chosen = live_controls.pick("Recorded run", runs, "live_run")
        live_controls.load_file()
        if not live_controls.can_run():
            st.caption(live_controls.MISSING)
    if chosen is None:
        st.title("No run is recorded yet", anchor=False)
    else:
        live_result.draw(chosen, runs, playable=True)


def unavailable(allowed: Allowed) -> None:
    """Without torch, or where the operator does not want runs: what would be shown, and how to have it."""
    st.title("Measuring needs torch on your own machine", anchor=False)
    st.markdown(WOULD_SHOW)
    st.markdown(live_controls.MISSING if allowed.run else "The operator of this app has turned runs off.")
    st.caption("To run it locally, in the project's folder:")
    st.code(live_controls.INSTALL, language=None, wrap_lines=True)


def run_here(allowed: Allowed) -> None:
    job = live_job.current()
    with st.sidebar:
        settings = live_controls.run_settings(allowed)
        ready = job is None and bool(settings.family or settings.model)
        if live_job.start_button("Run", ":material/play_arrow:", "live_start", ready=ready):
            live_job.start("measure", {"settings": settings.model_dump(mode="json")}, settings.seconds_limit)
        st.caption(need_line(settings))
    if job is not None and job.kind == "measure":
        st.title("Measuring", anchor=False)
        live_job.draw(job, live_controls.MEASURED)
        return
    if fault := live_job.fault_of("measure"):
        st.title(f"{wording.ICONS['short']} The run did not finish", anchor=False)
        st.markdown(fault)
    receipt: Receipt | None = st.session_state.get(live_controls.MEASURED)
    if receipt is not None:
        run = receipt.runs[0]
        live_result.draw(Chosen(live_controls.run_name(run), receipt, run), live_controls.known_runs(), playable=False)
    elif not fault:
        st.title("Run a small model to see its cache grow", anchor=False)
        st.markdown(WOULD_SHOW)
        growths = [f"- **{family.label}**: {family.growth}" for family in FAMILIES.values()]
        st.markdown("\n".join(growths))


def need_line(settings: Settings) -> str:
    """What the run will need, before it is started."""
    if settings.family is None:
        return "Only config.json and safetensors files are fetched, at most 8 GiB; no code of the checkpoint is run."
    try:
        need = need_of(Predicted(read_config(FAMILIES[settings.family].config), settings))
    except ScenarioError as error:
        return error.message
    free = free_host_bytes()
    here = f" This machine has {free / 2**30:,.1f} GiB free." if free is not None else ""
    return (
        f"Needs {need.weights / 2**30:,.2f} GiB of weights, {need.cache / 2**30:,.2f} of cache and about "
        f"{need.working / 2**30:,.2f} of working memory.{here}"
    )


def dry_run(held: Held) -> None:
    job = live_job.current()
    with st.sidebar:
        model, batch, tokens = live_controls.dry_settings(str(held.values["model"]))
        try:
            config = live_dry_run.config_of(model, held)
        except live_dry_run.NoConfig as error:
            st.title("There is no config to build", anchor=False)
            st.markdown(str(error))
            return
        tokens, fewer = live_dry_run.bounded_tokens(config, tokens)
        if live_job.start_button("Build", ":material/layers:", "live_dry_start", ready=job is None):
            payload = {"config": config, "batch": batch, "tokens": tokens}
            live_job.start("dry_run", payload, live_dry_run.SECONDS, model)
        if fewer:
            st.caption(fewer)
    if job is not None and job.kind == "dry_run":
        st.title("Building at full size", anchor=False)
        live_job.draw(job, live_dry_run.RESULT)
        return
    fault, dry = live_job.fault_of("dry_run"), live_dry_run.result(model)
    if fault:
        st.title(f"{wording.ICONS['short']} The library did not build it", anchor=False)
        st.markdown(fault)
    elif dry is not None:
        live_dry_run.draw(dry, model)
    else:
        st.title("Build the full-size model without its memory", anchor=False)
        st.markdown(
            "On torch's meta device tensors have shapes but no storage, so a model of any size is built and prefilled "
            "in seconds. Parameters and cache bytes are listed by layer as the library allocates them, beside the "
            "prediction."
        )


def server(allowed: Allowed, held: Held, outcome: Outcome) -> None:
    with st.sidebar:
        live_server.controls(allowed)
    line = str(held.values["model"])
    if outcome.report and outcome.spec:
        line = wording.scenario_line(held, outcome.report.scenario, outcome.spec)
    live_server.draw(allowed, outcome, f"Compared with the scenario of Plan: {line}")


enter("pages/live.py")
held = open_state("live")
publish(held)
allowed = read_allowed()
with st.sidebar:
    source = live_controls.source()
if source == "recorded":
    recorded()
elif source == "server":
    server(allowed, held, solve(held.values, held.config_text))
elif not (live_controls.can_run() and allowed.run):
    unavailable(allowed)
elif source == "run":
    run_here(allowed)
else:
    dry_run(held)
