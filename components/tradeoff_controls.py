"""The controls of Trade-offs: overlays, a clicked or typed point, and the direction of the cut.

The scenario and the address are what they show and change; none keeps a state of its own.
"""

from dataclasses import replace
from typing import Any

import streamlit as st

from components import choices, wording
from components.format import Unit, counted, short_tokens
from components.scenario_state import HELD, WIDGET, Held, apply, moved
from components.solve import Outcome
from components.tradeoff_cut import Along
from components.tradeoff_survey import Survey
from components.tradeoff_variants import (
    FIRST_KIND,
    KINDS,
    MOST_OVERLAYS,
    NONE,
    Variant,
    read_overlays,
    usual,
    values_of,
    write_overlays,
)
from components.url_state import DEFAULTS
from sizing.report import Report
from sizing.room import tightest_rank
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT, Scenario

MAP = "tradeoff_map"
OVERLAYS, KIND, MORE, CUT = "overlays", "overlay_kind", "more_overlays", "cut"
FULL = "overlays_full"
POINT = {"context_length": "point_tokens", "batch_size": "point_requests"}
BY_REQUESTS = "requests"


def without_faults(held: Held, outcome: Outcome) -> tuple[Held, Outcome]:
    """What is drawn where a field is at fault: the same scenario with its default in the field's place."""
    usual_values = {name: DEFAULTS[name] for name in outcome.set_aside if name in DEFAULTS}
    return replace(held, values=held.values | usual_values), replace(outcome, fault=None, set_aside=())


def headline(outcome: Outcome, report: Report, unit: Unit) -> str:
    """The answer on both axes; the verdict where there is no answer but that it cannot fit."""
    assert outcome.planned
    usable = tightest_rank(outcome.planned).usable
    if usable is None or usable < 0:
        return wording.verdict_line(outcome.planned, report, unit)
    return wording.answers_line(report)


def reading(surveyed: Survey, scenario: Scenario) -> str:
    """How the map is read."""
    if not surveyed.own.bands or (scenario.accelerator is None and scenario.total_memory_bytes is None):
        return "No memory size is known, so nothing bounds this map. Choose an accelerator to see what fits."
    click = "Hover to read any point, click to move there."
    if not surveyed.own.corners.batch:
        return f"Nothing fits at any length. {click}"
    rules = wording.engine_name(scenario)
    whose = "of what the architecture needs" if scenario.engine == "minimum" else f"by the rules of {rules}"
    return f"Shaded: fits. Every corner is exact {whose}, not a fitted curve. {click}"


def is_kind(held: Held) -> bool:
    """Whether the overlays are the usual ones of a kind of setting, which is how a visit begins."""
    return held.view.get(OVERLAYS, FIRST_KIND) in KINDS


def chosen_overlays(held: Held, outcome: Outcome) -> tuple[list[Variant], list[str]]:
    """The overlays that the address asks for, and a sentence for each that it asks for in vain."""
    text = held.view.get(OVERLAYS, FIRST_KIND)
    if is_kind(held):
        return usual(text, held.values, _current(text, held, outcome)), []
    return read_overlays(text, str(held.values["engine"]))


def _current(kind: str, held: Held, outcome: Outcome) -> list[Any]:
    """The names of the scenario's own value, as it was set and as it was resolved."""
    assert outcome.planned and outcome.spec
    resolved = getattr(outcome.planned.scenario, kind)
    stored = outcome.spec.quantization.method if outcome.spec.quantization else outcome.spec.dtype
    return [held.values[kind], resolved, *([stored] if kind == "weights" and held.values[kind] == choices.AUTO else [])]


def own_name(held: Held, outcome: Outcome) -> str:
    """The scenario's own line, in the words of the kind that is compared."""
    assert outcome.planned and outcome.spec
    kind = held.view.get(OVERLAYS, FIRST_KIND)
    scenario = outcome.planned.scenario
    match kind:
        case "kv_dtype":
            return f"KV {wording.kv_name(scenario)}"
        case "weights":
            auto = held.values["weights"] == choices.AUTO and scenario.weights == choices.AUTO
            name = choices.stored_label(outcome.spec) if auto else choices.weights_label(scenario.weights)
            return f"Weights {name}"
        case "tensor_parallel":
            return counted(int(held.values["tensor_parallel"]), "GPU")
        case "accelerator" if scenario.accelerator and held.accelerator_name is None:
            return choices.short_accelerator(scenario.accelerator)
        case "engine":
            return choices.engine_label(scenario.engine)
        case _:
            return "Yours"


def draw_overlays(held: Held, outcome: Outcome, variants: list[Variant]) -> None:
    """What is compared: a kind of setting as one choice, then single variants, of any kind."""
    kind = held.view.get(OVERLAYS, FIRST_KIND) if is_kind(held) else (variants[0].kind if variants else None)
    near = usual(kind, held.values, _current(kind, held, outcome)) if kind else []
    shown = {variant.key: variant.label for variant in [*variants, *near]}
    more = {variant.key: variant.label for variant in _all(held)}
    st.session_state[WIDGET + KIND] = kind
    st.session_state[WIDGET + OVERLAYS] = [variant.key for variant in variants]
    st.session_state[WIDGET + MORE] = None
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Compare by",
            list(KINDS),
            key=WIDGET + KIND,
            format_func=KINDS.__getitem__,
            label_visibility="collapsed",
            on_change=_take_kind,
        )
        st.pills(
            "Overlays",
            list(shown),
            selection_mode="multi",
            key=WIDGET + OVERLAYS,
            format_func=lambda key: shown.get(key, more.get(key, key)),
            label_visibility="collapsed",
            on_change=_take_overlays,
        )
        st.selectbox(
            "Add an overlay",
            [key for key in more if key not in shown],
            key=WIDGET + MORE,
            format_func=lambda key: more.get(key, shown.get(key, key)),
            placeholder="Add an overlay",
            label_visibility="collapsed",
            width=190,
            on_change=_take_one_more,
        )
    if st.session_state.pop(FULL, False):
        st.caption(f":orange[:material/info:] The map holds {MOST_OVERLAYS} overlays; take one away to add another.")


def _all(held: Held) -> list[Variant]:
    engine = str(held.values["engine"])
    return [Variant(kind, value) for kind in KINDS for value in values_of(kind, engine)]


def _take_kind() -> None:
    _set_view(OVERLAYS, st.session_state[WIDGET + KIND] or NONE)


def _take_overlays() -> None:
    _overlay(st.session_state[WIDGET + OVERLAYS])


def _take_one_more() -> None:
    chosen = st.session_state[WIDGET + MORE]
    if chosen is not None:
        _overlay([*st.session_state[WIDGET + OVERLAYS], chosen])


def _overlay(keys: list[str]) -> None:
    """The first MOST_OVERLAYS of them, and a word where there are more."""
    held: Held = st.session_state[HELD]
    st.session_state[FULL] = len(keys) > MOST_OVERLAYS
    engine = str(held.values["engine"])
    variants = [variant for key in keys[:MOST_OVERLAYS] for variant in read_overlays(key, engine)[0]]
    _set_view(OVERLAYS, write_overlays(variants))


def _set_view(name: str, text: str) -> None:
    """Into the address with the next run; what a visit begins with is left out of it."""
    held: Held = st.session_state[HELD]
    held.view.pop(name, None)
    if text != {OVERLAYS: FIRST_KIND, CUT: "tokens"}[name]:
        held.view[name] = text
    moved()


def take_click() -> None:
    """A click on the map moves the scenario to the nearest point of its grid."""
    points = st.session_state[MAP].selection.points
    if points:
        apply({"context_length": int(points[0]["y"]), "batch_size": int(points[0]["x"])})


def draw_point(held: Held) -> None:
    """The point in numbers, to be typed."""
    fields = (("context_length", "Move to, tokens", LONGEST_CONTEXT), ("batch_size", "Requests", LARGEST_BATCH))
    for column, (name, label, most) in zip(st.columns(2, gap="small"), fields, strict=True):
        st.session_state[WIDGET + POINT[name]] = held.values.get(name)
        with column:
            st.number_input(
                label,
                min_value=1,
                max_value=most,
                step=1,
                value=None,
                key=WIDGET + POINT[name],
                on_change=_take_point,
                args=(name,),
            )


def _take_point(name: str) -> None:
    value = st.session_state.get(WIDGET + POINT[name])
    if value is not None:
        apply({name: value})


def draw_along(held: Held, surveyed: Survey) -> Along:
    """Which way the map is cut."""
    along: Along = "requests" if held.view.get(CUT) == BY_REQUESTS else "tokens"
    labels = {
        "tokens": f"By tokens, {counted(surveyed.batch, 'request')}",
        "requests": f"By requests, {short_tokens(surveyed.tokens)} tokens",
    }
    st.session_state[WIDGET + CUT] = along
    st.segmented_control(
        "Cut along",
        list(labels),
        key=WIDGET + CUT,
        format_func=labels.__getitem__,
        label_visibility="collapsed",
        required=True,
        on_change=_take_along,
    )
    return along


def _take_along() -> None:
    _set_view(CUT, st.session_state[WIDGET + CUT])
