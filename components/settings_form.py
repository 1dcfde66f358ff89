"""The expanders of rarer settings: those of the engine, and exact numbers, kinds of parallelism, memory and states."""

import streamlit as st

from components import choices, engine_settings
from components.form import MOST_RANKS, Form, pair, seeded
from components.scenario_state import WIDGET, moved
from sizing.engines.words import ENGINE_FIELDS
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT

DP_ATTENTION = ("minimum", "sglang", "tensorrt-llm")
NO_CONTEXT_PARALLEL = ("llama.cpp", "tensorrt-llm")
NO_EXPERT_PARALLEL = ("llama.cpp",)
OF_LOAD = (
    "pipeline_parallel",
    "data_parallel",
    "decode_context_parallel",
    "expert_parallel",
    "dp_attention",
    "other_memory_bytes",
    "total_memory_bytes",
    "average_context_length",
    "shared_prefix_tokens",
    "state_dtype",
)


def draw(form: Form) -> None:
    """Everything rarer."""
    of_engine = sorted({"speculative", "lora"} | ENGINE_FIELDS)
    if opened := form.expander("Engine settings", ":material/tune:", "settings", of_engine):
        with opened:
            engine_settings.draw(form)
    if opened := form.expander("Load, GPUs and memory", ":material/memory:", "exact", OF_LOAD):
        with opened:
            _load(form)
            _parallel(form)
            _memory(form)


def _load(form: Form) -> None:
    """Exact numbers for the two sliders, and what the requests have in common."""
    for column, (name, label, most) in zip(
        st.columns(2, gap="small"),
        (("context_length", "Tokens, exact", LONGEST_CONTEXT), ("batch_size", "Requests, exact", LARGEST_BATCH)),
        strict=True,
    ):
        with column:
            _exact_field(form, name, label, most)
    form.whole("average_context_length", "Average tokens, if lengths are mixed", least=1, most=LONGEST_CONTEXT)
    form.whole("shared_prefix_tokens", "Shared prefix, tokens", least=0, most=LONGEST_CONTEXT)
    form.put("shared_prefix_tokens", form.get("shared_prefix_tokens", 0))


def _exact_field(form: Form, name: str, label: str, most: int) -> None:
    """A number field that its stepped control follows."""
    seeded(f"{name}_exact", form.get(name))
    st.number_input(
        label,
        min_value=1,
        max_value=most,
        step=1,
        value=None,
        key=f"{WIDGET}{name}_exact",
        on_change=_take_exact,
        args=(name,),
    )


def _take_exact(name: str) -> None:
    """The slider follows the exact field; an emptied field leaves it where it is."""
    value = st.session_state.get(f"{WIDGET}{name}_exact")
    if value is None:
        st.session_state.pop(f"{WIDGET}{name}_exact", None)
    else:
        st.session_state[WIDGET + name] = value
    moved()


def _parallel(form: Form) -> None:
    """Sizes of the groups, two a row."""
    st.caption("GPUs by kind of parallelism")
    left, right = st.columns(2, gap="small")
    with left:
        _exact_field(form, "tensor_parallel", "Tensor", MOST_RANKS)
    with right:
        _group(form, "pipeline_parallel", "Pipeline", "The layers are split into this many stages.")
    left, right = st.columns(2, gap="small")
    with left:
        _group(form, "data_parallel", "Data", "This many copies of the whole model share the requests.")
    with right:
        if form.get("engine") not in NO_CONTEXT_PARALLEL or form.is_set("decode_context_parallel"):
            _group(form, "decode_context_parallel", "Context", "This many GPUs share out the tokens of a request.")
    _toggle(form, "expert_parallel", "Expert parallel", form.get("engine") not in NO_EXPERT_PARALLEL)
    _toggle(form, "dp_attention", "Data-parallel attention", form.get("engine") in DP_ATTENTION)


def _group(form: Form, name: str, label: str, help_: str) -> None:
    form.whole(name, label, help=help_)
    form.put(name, form.get(name, 1))


def _toggle(form: Form, name: str, label: str, has_it: bool) -> None:
    """Drawn where the engine has it and it says something, and where it is on all the same."""
    if form.is_set(name) or (has_it and form.shows(name)):
        seeded(name, form.get(name, False))
        form.put(name, st.toggle(label, key=WIDGET + name, on_change=moved))
        form.slot(name)


def _memory(form: Form) -> None:
    st.caption("Memory")
    form.size("other_memory_bytes", "Used by other processes")
    form.put("other_memory_bytes", form.get("other_memory_bytes", 0))
    if form.held.accelerator_name is None and form.get("accelerator") is not None:
        form.size("total_memory_bytes", "Memory, if not the catalog's")
    if form.get("engine") != "llama.cpp" and form.shows("state_dtype"):
        _states(form)


def _states(form: Form) -> None:
    held = form.get("state_dtype", choices.AUTO)
    shown = choices.APART if isinstance(held, dict) else choices.AUTO
    labels = {choices.AUTO: "Auto", choices.APART: "Chosen below"}
    value = form.choose("state_dtype", "Recurrent state", list(labels), shown, format_func=labels.get)
    if value == choices.AUTO:
        form.put("state_dtype", choices.AUTO)
    else:
        if not isinstance(held, dict):
            form.put("state_dtype", {"conv": "bf16", "recurrent": "fp32"})
        parts = {"conv": "Convolution", "recurrent": "Recurrence"}
        pair(form, "state_dtype", parts, choices.STATE_FORMATS, str.upper)
    form.slot("state_dtype")
