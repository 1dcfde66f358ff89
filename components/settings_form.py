"""The expander of rarer settings: exact numbers, kinds of parallelism, the engine's own settings, memory and states."""

import streamlit as st

from components import choices, engine_settings
from components.form import MOST_RANKS, Form, pair, seeded
from components.scenario_state import WIDGET, moved
from sizing.engines.words import ENGINE_FIELDS
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT

DP_ATTENTION = ("minimum", "sglang", "tensorrt-llm")


def draw(form: Form) -> None:
    """Everything rarer. While it is closed its controls are not drawn, and the scenario keeps their values."""
    place = st.empty()
    opened = st.expander("Engine settings", icon=":material/tune:", key="settings", on_change="rerun")
    if not opened.open:
        form.slots = dict.fromkeys(SETTINGS, place) | form.slots
        return
    with opened:
        _exact(form)
        _parallel(form)
        engine_settings.draw(form)
        _memory(form)
        if form.get("engine") != "llama.cpp":
            _states(form)


SETTINGS = (
    "pipeline_parallel",
    "data_parallel",
    "decode_context_parallel",
    "expert_parallel",
    "dp_attention",
    "other_memory_bytes",
    "total_memory_bytes",
    "max_model_len",
    "average_context_length",
    "shared_prefix_tokens",
    "state_dtype",
    "speculative",
    "lora",
    *sorted(ENGINE_FIELDS),
)


def _exact(form: Form) -> None:
    """Exact numbers for the two sliders."""
    for column, (name, label, most) in zip(
        st.columns(2, gap="small"),
        (("context_length", "Tokens, exact", LONGEST_CONTEXT), ("batch_size", "Requests, exact", LARGEST_BATCH)),
        strict=True,
    ):
        with column:
            _exact_field(form, name, label, most)


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
    sizes = {
        "pipeline_parallel": ("Pipeline", "The layers are split into this many stages."),
        "data_parallel": ("Data", "This many copies of the whole model share the requests."),
        "decode_context_parallel": ("Context", "This many GPUs share out the tokens of a request."),
    }
    st.caption("GPUs by kind of parallelism")
    for row in (("", "pipeline_parallel"), ("data_parallel", "decode_context_parallel")):
        for column, name in zip(st.columns(2, gap="small"), row, strict=True):
            with column:
                if name:
                    form.whole(name, sizes[name][0], help=sizes[name][1])
                    form.put(name, form.get(name, 1))
                else:
                    _exact_field(form, "tensor_parallel", "Tensor", MOST_RANKS)
    _toggle(form, "expert_parallel", "Expert parallel")
    if form.get("engine") in DP_ATTENTION or form.get("dp_attention"):
        _toggle(form, "dp_attention", "Data-parallel attention")


def _toggle(form: Form, name: str, label: str) -> None:
    seeded(name, form.get(name, False))
    form.put(name, st.toggle(label, key=WIDGET + name, on_change=moved))
    form.slot(name)


def _memory(form: Form) -> None:
    st.caption("Memory and load")
    form.size("other_memory_bytes", "Used by other processes")
    form.put("other_memory_bytes", form.get("other_memory_bytes", 0))
    if form.held.accelerator_name is None and form.get("accelerator") is not None:
        form.size("total_memory_bytes", "Memory, if not the catalog's")
    form.whole("average_context_length", "Average tokens, if lengths are mixed", least=1, most=LONGEST_CONTEXT)
    form.whole("shared_prefix_tokens", "Shared prefix, tokens", least=0, most=LONGEST_CONTEXT)
    form.put("shared_prefix_tokens", form.get("shared_prefix_tokens", 0))


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
