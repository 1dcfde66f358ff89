"""The scenario form in the sidebar. Every control starts from the scenario and writes its value back to it."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import choices, media_form, settings_form
from components.engine_settings import ADAPTERS
from components.form import Form, Slots, pair, seeded
from components.format import short_tokens
from components.scenario_state import WIDGET, Held, forget_controls, moved
from components.solve import OWN_CONFIG
from model_catalog.config_text import LONGEST_TEXT
from sizing.engines.words import ENGINE_FIELDS, OPTIONS
from sizing.resolve import DEFAULT_CONTEXT
from sizing.scenario import ANOTHER_CARD


def draw(held: Held) -> Slots:
    """Draw the form, bring `held.values` up to date and return where each field's fault can be told."""
    form = Form(held)
    with st.sidebar:
        _model(form)
        left, right = st.columns([1.35, 1], gap="small")
        with left:
            _weights(form)
        with right:
            _kv(form)
        _kv_apart(form)
        _accelerator(form)
        _gpus(form)
        _load(form)
        _engine(form)
        settings_form.draw(form)
        media_form.draw(form)
    return form.slots


def _model(form: Form) -> None:
    chosen = form.choose(
        "model",
        "Model",
        list(choices.model_names()),
        form.get("model"),
        format_func=choices.model_label,
        accept_new_options=True,
        help="Pick from the list, or type a Hugging Face id or the address of its page.",
    )
    form.put("model", choices.model_id(chosen or form.get("model")))
    form.slot("model")
    if form.get("model") == OWN_CONFIG:
        _own_config(form)


def _own_config(form: Form) -> None:
    seeded("config", form.held.config_text)
    st.file_uploader(
        "Drop a config.json",
        type=["json", "txt"],
        key=WIDGET + "file",
        max_upload_size=2,
        on_change=_take_file,
    )
    form.held.config_text = st.text_area(
        "or paste its text", key=WIDGET + "config", height=140, max_chars=LONGEST_TEXT, on_change=moved
    )


def _take_file() -> None:
    """The dropped file becomes the pasted text, so that there is one text and it can be edited."""
    moved()
    file = st.session_state[WIDGET + "file"]
    if file is not None:
        st.session_state[WIDGET + "config"] = file.getvalue().decode("utf-8", errors="replace")


def _weights(form: Form) -> None:
    value = form.choose(
        "weights",
        "Weights",
        choices.weights_options(),
        form.get("weights"),
        format_func=choices.weights_label,
    )
    form.put("weights", value)
    form.slot("weights")


def _kv(form: Form) -> None:
    held = form.get("kv_dtype")
    shown = choices.APART if isinstance(held, dict) else held
    options = choices.kv_options(form.get("engine"))
    value = form.choose("kv_dtype", "KV cache", options, shown, format_func=choices.kv_label)
    if value != choices.APART:
        form.put("kv_dtype", value)
    elif not isinstance(held, dict):
        form.put("kv_dtype", {"k": held, "v": held})


def _kv_apart(form: Form) -> None:
    """Keys and values each with a format of their own."""
    held = form.get("kv_dtype")
    if isinstance(held, dict):
        options = choices.kv_options(form.get("engine"))[:-1]
        pair(form, "kv_dtype", {"k": "Keys", "v": "Values"}, options, choices.kv_label)
    form.slot("kv_dtype")


def _accelerator(form: Form) -> None:
    held = form.held
    own = held.accelerator_name is not None or (
        held.values.get("accelerator") is None and held.values.get("total_memory_bytes") is not None
    )
    value = choices.OWN_ACCELERATOR if own else form.get("accelerator", choices.NO_ACCELERATOR)
    chosen = form.choose(
        "accelerator",
        "Accelerator",
        list(choices.accelerator_names()),
        value,
        format_func=choices.accelerator_label,
    )
    form.slot("accelerator")
    if chosen == choices.OWN_ACCELERATOR:
        _own_accelerator(form)
        return
    held.accelerator_name = None
    if own or (chosen or None) != form.get("accelerator"):
        _leave_card(form)
    form.put("accelerator", chosen or None)


def _leave_card(form: Form) -> None:
    """Sizes that were given for another card are left behind."""
    for name, value in ANOTHER_CARD.items():
        form.put(name, value)
        forget_controls(of=name)


def _own_accelerator(form: Form) -> None:
    form.put("accelerator", None)
    name, memory = st.columns(2, gap="small")
    with name:
        seeded("accelerator_name", form.held.accelerator_name or "")
        form.held.accelerator_name = st.text_input(
            "Its name", key=WIDGET + "accelerator_name", max_chars=60, on_change=moved, placeholder="any"
        )
    with memory:
        form.size("total_memory_bytes", "Its memory")


def _gpus(form: Form) -> None:
    value = seeded("tensor_parallel", form.get("tensor_parallel", 1))
    chosen = st.segmented_control(
        "GPUs" if _chosen_engine(form) == "llama.cpp" else "GPUs, tensor parallel",
        choices.with_current(choices.TENSOR_PARALLEL, value),
        key=WIDGET + "tensor_parallel",
        required=True,
        width="stretch",
        on_change=_moved_step,
        args=("tensor_parallel",),
    )
    form.put("tensor_parallel", chosen or 1)
    form.slot("tensor_parallel")


def _load(form: Form) -> None:
    _steps(
        form,
        "context_length",
        "Tokens per request",
        choices.TOKENS,
        short_tokens,
        "Prompt and answer together. An exact number can be typed under Load, GPUs and memory.",
    )
    _steps(form, "batch_size", "Concurrent requests", choices.REQUESTS, "{:,}".format, None)


def _steps(
    form: Form,
    name: str,
    label: str,
    steps: Sequence[int],
    format_func: Callable[[Any], str],
    help_: str | None,
) -> None:
    """A slider over round numbers; an exact number from elsewhere takes its place among them."""
    value = seeded(name, form.get(name, DEFAULT_CONTEXT))
    chosen = st.select_slider(
        label,
        choices.with_current(steps, value),
        key=WIDGET + name,
        format_func=format_func,
        help=help_,
        on_change=_moved_step,
        args=(name,),
    )
    form.put(name, chosen)
    form.slot(name)


def _moved_step(name: str) -> None:
    """The exact field follows the slider."""
    st.session_state.pop(f"{WIDGET}{name}_exact", None)
    moved()


def _engine(form: Form) -> None:
    """The version is asked for only where the rules differ between versions; any release can be typed."""
    chosen = _chosen_engine(form)
    left, right = _beside() if len(choices.engine_versions(chosen)) > 1 else (st.container(), st.container())
    with left:
        engine = form.choose(
            "engine", "Engine", choices.engine_options(), form.get("engine"), format_func=choices.engine_label
        )
    if engine != form.get("engine"):
        _leave_engine(form, engine)
    form.put("engine", engine)
    versions = choices.engine_versions(engine)
    if len(versions) > 1:
        with right:
            _version(form, engine, versions)
    form.slot("engine")
    form.slot("engine_version")


def _chosen_engine(form: Form) -> str:
    """As its control says, which may not have been drawn yet."""
    return str(st.session_state.get(WIDGET + "engine", form.get("engine")))


def _beside() -> tuple[DeltaGenerator, DeltaGenerator]:
    left, right = st.columns([1.35, 1], gap="small")
    return left, right


def _version(form: Form, engine: str, versions: Sequence[str]) -> None:
    """The newest is what a scenario without a version means."""
    shown = form.get("engine_version", versions[0])
    chosen = form.choose(f"version_{engine}", "Version", versions, shown, accept_new_options=True)
    if chosen and chosen != shown:
        form.put("engine_version", chosen)


def _leave_engine(form: Form, engine: str) -> None:
    """Settings that the next engine does not have are left behind, and drafts, which each names in its own way."""
    adapters = () if engine in ADAPTERS else ("lora",)
    for name in ("engine_version", "speculative", *adapters, *(ENGINE_FIELDS - set(OPTIONS[engine]))):
        form.put(name, None)
    forget_controls(of="draft_")
    if form.get("dp_attention") and engine not in settings_form.DP_ATTENTION:
        form.held.values.update(dp_attention=False, data_parallel=1)
