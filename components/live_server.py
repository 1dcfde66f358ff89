"""A running server on the page: what its metrics say, over time, beside what is predicted for the scenario."""

import time
from dataclasses import dataclass
from typing import Any

import streamlit as st

from components import inks, plain_table
from components.format import counted
from components.live_chart import CONFIG, note
from components.solve import Outcome
from components.wording import ICONS
from live.operator import Allowed
from live.server_fetch import fetch_metrics
from live.server_metrics import LONGEST_METRICS, MetricsError, ServerReading, read_metrics
from sizing.engines import ENGINES

HISTORY = "live_server_history"
MOST_POINTS = 1800
EVERY = 2.0
HEIGHT = 360
NOTHING = "–"
SETTINGS_EXAMPLE = '[live]\nservers = ["http://localhost:8000/metrics"]'


@dataclass(frozen=True)
class Seen:
    """One reading and when it was taken (seconds of the monotonic clock)."""

    at: float
    reading: ServerReading


def draw(allowed: Allowed, outcome: Outcome, scenario_line: str) -> None:
    """Watched servers if the operator allows any; pasted text always."""
    st.caption(scenario_line)
    server = st.session_state.get("live_server") if allowed.servers else None
    if server:
        _watch(server, allowed, outcome)
        return
    text = st.session_state.get("live_metrics", "")
    if text.strip():
        _pasted(text, outcome)
        return
    st.title("Paste a metrics page of vLLM, SGLang or llama.cpp", anchor=False)
    st.markdown(
        "It is laid beside what is predicted for the scenario of Plan: blocks and tokens of the pool, its use, running "
        "and waiting requests, preemptions. Nothing leaves this page."
    )
    if not allowed.servers:
        st.caption("Watching a server is off here. The operator of this app allows it in kv_atlas.toml beside app.py:")
        st.code(SETTINGS_EXAMPLE, language=None)


def controls(allowed: Allowed) -> None:
    """The sidebar of this source."""
    if allowed.servers:
        st.selectbox("Server", [*allowed.servers, ""], key="live_server", format_func=lambda url: url or "Paste text")
    if not st.session_state.get("live_server"):
        st.text_area("Metrics text", key="live_metrics", height=220, placeholder="# HELP vllm:num_requests_running …")
    for complaint in allowed.complaints:
        st.markdown(f":small[:orange[:material/info: {complaint}]]")


def _pasted(text: str, outcome: Outcome) -> None:
    try:
        reading = read_metrics(text[: LONGEST_METRICS + 1])
    except MetricsError as error:
        st.title("These metrics cannot be read", anchor=False)
        st.markdown(str(error))
        return
    _answer(reading, outcome)


def _watch(server: str, allowed: Allowed, outcome: Outcome) -> None:
    kept: dict[str, list[Seen]] = st.session_state.setdefault(HISTORY, {})
    history = kept.setdefault(server, [])

    @st.fragment(run_every=EVERY)
    def look() -> None:
        try:
            reading = read_metrics(fetch_metrics(server, allowed.servers))
        except MetricsError as error:
            st.title(f"{ICONS['tight']} The server does not answer", anchor=False)
            st.markdown(f"{error} It is asked again every {EVERY:.0f} s.")
        else:
            history.append(Seen(time.monotonic(), reading))
            del history[:-MOST_POINTS]
            _answer(reading, outcome)
        if len(history) > 1:
            st.plotly_chart(figure(history), key="live_server_figure", config=CONFIG, alt=alternative(history))

    look()


def _answer(reading: ServerReading, outcome: Outcome) -> None:
    st.title(verdict(reading), anchor=False)
    st.caption(_about(reading, outcome))
    plain_table.draw(["Figure", "Server", "Predicted", "Residual"], rows(reading, outcome), numbers=[1, 2, 3])


def verdict(reading: ServerReading) -> str:
    """What matters now: requests that wait, or the share of the cache in use."""
    running = counted(reading.running or 0, "request")
    if reading.waiting:
        used = f", the cache {reading.usage:.0%} full" if reading.usage is not None else ""
        return f"{ICONS['tight']} {counted(reading.waiting, 'request')} wait while {running} run{used}"
    if reading.usage is None:
        return f"{running.capitalize()} running, none waiting"
    return f"{ICONS['fits']} {running} use {reading.usage:.0%} of the cache, none wait"


def _about(reading: ServerReading, outcome: Outcome) -> str:
    label = ENGINES[reading.engine].label if reading.engine in ENGINES else reading.engine
    parts = [f"{label} serves {reading.model}." if reading.model else f"{label}, model not named."]
    if reading.replicas > 1:
        parts.append(f"{reading.replicas} data-parallel replicas; pool figures are those of one.")
    scenario = outcome.report.scenario if outcome.report else None
    if scenario is None:
        parts.append("The scenario of Plan has no answer, so nothing is predicted.")
    elif scenario.engine != reading.engine:
        parts.append(f"The scenario of Plan is for {ENGINES[scenario.engine].label}; set it to {label} to compare.")
    elif reading.model and reading.model != scenario.model:
        parts.append(f"The scenario of Plan is for {scenario.model}, so the predictions are too.")
    return " ".join(parts)


def rows(reading: ServerReading, outcome: Outcome) -> list[list[str]]:
    """Each figure beside its prediction, where the scenario is for the same engine."""
    report = outcome.report if outcome.report and outcome.report.scenario.engine == reading.engine else None
    capacity = report.capacity if report else None
    named = [
        ("Blocks in the pool", reading.num_blocks, capacity.num_blocks if capacity else None),
        ("Tokens in the pool", reading.pool_tokens, capacity.kv_tokens if capacity else None),
        ("Tokens in use", reading.used_tokens, None),
        ("Longest sequence, tokens", reading.longest_tokens, None),
        ("Running requests", reading.running, capacity.max_batch_at_context if capacity else None),
        ("Waiting requests", reading.waiting, None),
        ("Preemptions", reading.preemptions, None),
    ]
    table = [_row(name, seen, predicted) for name, seen, predicted in named if seen is not None]
    if reading.usage is not None:
        table.append(["Cache in use", f"{reading.usage:.1%}", *_usage(reading, outcome)])
    return table


def _row(name: str, seen: int, predicted: int | None) -> list[str]:
    if predicted is None:
        return [name, f"{seen:,}", NOTHING, NOTHING]
    if name == "Running requests":
        return [name, f"{seen:,}", f"at most {predicted:,}", NOTHING]
    share = f" ({(seen - predicted) / predicted:+.2%})" if predicted else ""
    return [name, f"{seen:,}", f"{predicted:,}", minus(f"{seen - predicted:+,}{share}")]


def minus(text: str) -> str:
    """With a true minus."""
    return text.replace("-", "−")


def _usage(reading: ServerReading, outcome: Outcome) -> tuple[str, str]:
    """What the running requests would use at the scenario's full length: a ceiling while they still grow."""
    planned = outcome.planned
    if planned is None or planned.scenario.engine != reading.engine or not reading.running:
        return NOTHING, NOTHING
    batch = -(-reading.running // reading.replicas)
    shares = [
        int(rank.cache.live(planned.scenario.context_length or 1, batch)) / rank.usable
        for rank in planned.ranks
        if rank.usable
    ]
    if not shares or reading.usage is None:
        return NOTHING, NOTHING
    return f"at most {max(shares):.1%}", minus(f"{reading.usage - max(shares):+.1%}")


def figure(history: list[Seen]) -> dict[str, Any]:
    """The cache's use above, running and waiting requests below, against the seconds watched."""
    start = history[0].at
    seconds = [seen.at - start for seen in history]
    readings = [seen.reading for seen in history]
    axis = {"fixedrange": True, "rangemode": "tozero", "tickfont": {"size": 11}}
    return {
        "data": [
            _series("Cache in use", seconds, [_percent(each.usage) for each in readings], inks.KV, "solid", "y"),
            _series("Running", seconds, [each.running for each in readings], inks.INK, "solid", "y2"),
            _series("Waiting", seconds, [each.waiting for each in readings], inks.INK, "dot", "y2"),
        ],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 26, "b": 36, "l": 48, "r": 8},
            "showlegend": False,
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": {"anchor": "y2", "fixedrange": True, "title": {"text": "seconds watched", "font": {"size": 12}}},
            "yaxis": axis | {"domain": [0.58, 1]},
            "yaxis2": axis | {"domain": [0, 0.42]},
            "annotations": [
                note("cache in use, %", 0, 1, yshift=4),
                note("requests: running solid, waiting dotted", 0, 0.42, yshift=4),
            ],
        },
    }


def _percent(usage: float | None) -> float | None:
    return None if usage is None else usage * 100


def _series(name: str, x: list[float], y: list[Any], colour: str, dash: str, axis: str) -> dict[str, Any]:
    line = {"color": colour, "width": 2, "dash": dash}
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line, "yaxis": axis}


def alternative(history: list[Seen]) -> str:
    last = history[-1].reading
    said = verdict(last).rpartition("]")[2].strip()
    return f"{len(history)} readings over {history[-1].at - history[0].at:,.0f} s; the last: {said}."
