"""The scenario form in the sidebar. Every control starts from the scenario and writes its value back to it."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import choices
from components.format import parse_size, short_tokens, size_entry
from components.scenario_state import WIDGET, Held, moved
from components.solve import OWN_CONFIG
from model_catalog.config_text import LONGEST_TEXT
from sizing.engines.words import ENGINE_FIELDS, OPTIONS
from sizing.resolve import DEFAULT_CONTEXT
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT

MOST_RANKS = 4096
Slots = dict[str, DeltaGenerator]


class Form:
    """Draws controls that share three things: a key, the scenario they start from, and a place for what is wrong."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.slots: Slots = {}

    def get(self, name: str, default: Any = None) -> Any:
        value = self.held.values.get(name)
        return default if value is None else value

    def put(self, name: str, value: Any) -> None:
        self.held.values[name] = value

    def slot(self, name: str) -> None:
        """Reserve the place under a control where its fault is told."""
        self.slots[name] = st.empty()

    def choose(self, key: str, label: str, options: Sequence[Any], value: Any, **more: Any) -> Any:
        """A select box that also holds a value from outside its list."""
        listed = choices.with_current(options, seeded(key, value))
        return st.selectbox(label, listed, key=WIDGET + key, on_change=moved, **more)

    def whole(self, name: str, label: str, *, least: int = 1, most: int = MOST_RANKS, **more: Any) -> None:
        """A whole number, exact; empty is the field's default."""
        seeded(name, self.held.values.get(name))
        value = st.number_input(
            label,
            min_value=least,
            max_value=most,
            step=1,
            value=None,
            key=WIDGET + name,
            on_change=moved,
            **more,
        )
        self.put(name, value)
        self.slot(name)

    def size(self, name: str, label: str, **more: Any) -> None:
        """A size with its unit as text. What cannot be read is kept as it was typed."""
        held = self.held.values.get(name)
        seeded(name, size_entry(held) if isinstance(held, int) and held else held or "")
        text = st.text_input(label, key=WIDGET + name, on_change=moved, placeholder="such as 24 GiB", **more)
        self.put(name, size_or_text(text))
        self.slot(name)


def seeded(key: str, value: Any) -> Any:
    """Give a control its first value; later its own value stays. Returns the value it will show."""
    return st.session_state.setdefault(WIDGET + key, value)


def size_or_text(text: str) -> int | str | None:
    if not text.strip():
        return None
    try:
        return parse_size(text)
    except ValueError:
        return text


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
        _settings(form)
    return form.slots


def _model(form: Form) -> None:
    chosen = form.choose(
        "model",
        "Model",
        list(choices.model_names()),
        form.get("model"),
        format_func=choices.model_label,
        accept_new_options=True,
        help="Pick from the list, or type any Hugging Face id that the catalog knows.",
    )
    form.put("model", chosen or form.get("model"))
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
        _pair(form, "kv_dtype", {"k": "Keys", "v": "Values"}, options, choices.kv_label)
    form.slot("kv_dtype")


def _pair(
    form: Form, name: str, labels: dict[str, str], options: Sequence[str], format_func: Callable[[Any], str]
) -> None:
    """Two formats beside each other."""
    held = form.get(name)
    chosen = {}
    for column, (part, label) in zip(st.columns(2, gap="small"), labels.items(), strict=True):
        with column:
            chosen[part] = form.choose(f"{name}_{part}", label, options, held[part], format_func=format_func)
    form.put(name, chosen)


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
    if own:
        held.values["total_memory_bytes"] = None
    form.put("accelerator", chosen or None)


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
        "GPUs, tensor parallel",
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
        "Prompt and answer together. An exact number can be typed under Settings.",
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
    left, right = st.columns([1.35, 1], gap="small")
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


def _version(form: Form, engine: str, versions: Sequence[str]) -> None:
    """The newest is what a scenario without a version means."""
    shown = form.get("engine_version", versions[0])
    chosen = form.choose(f"version_{engine}", "Version", versions, shown, accept_new_options=True)
    if chosen and chosen != shown:
        form.put("engine_version", chosen)


def _leave_engine(form: Form, engine: str) -> None:
    """Settings that the next engine does not have are left behind."""
    form.put("engine_version", None)
    for name in ENGINE_FIELDS - set(OPTIONS[engine]):
        form.put(name, None)


def _settings(form: Form) -> None:
    """Everything rarer. While it is closed its controls are not drawn, and the scenario keeps their values."""
    place = st.empty()
    opened = st.expander("Settings", icon=":material/tune:", key="settings", on_change="rerun")
    if not opened.open:
        form.slots = dict.fromkeys(SETTINGS, place) | form.slots
        return
    with opened:
        _exact(form)
        _parallel(form)
        _memory(form)
        _lengths(form)
        _states(form)


SETTINGS = (
    "pipeline_parallel",
    "data_parallel",
    "decode_context_parallel",
    "memory_fraction",
    "other_memory_bytes",
    "total_memory_bytes",
    "max_model_len",
    "shared_prefix_tokens",
    "state_dtype",
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
    for pair in (("", "pipeline_parallel"), ("data_parallel", "decode_context_parallel")):
        for column, name in zip(st.columns(2, gap="small"), pair, strict=True):
            with column:
                if name:
                    form.whole(name, sizes[name][0], help=sizes[name][1])
                    form.put(name, form.get(name, 1))
                else:
                    _exact_field(form, "tensor_parallel", "Tensor", MOST_RANKS)
    seeded("expert_parallel", form.get("expert_parallel", False))
    form.put("expert_parallel", st.toggle("Expert parallel", key=WIDGET + "expert_parallel", on_change=moved))


def _memory(form: Form) -> None:
    seeded("memory_fraction", form.held.values.get("memory_fraction"))
    form.put(
        "memory_fraction",
        st.number_input(
            "Share of memory used",
            min_value=0.0,
            max_value=1.0,
            step=0.01,
            value=None,
            placeholder="the engine's own",
            key=WIDGET + "memory_fraction",
            on_change=moved,
            help="The part of each GPU's memory that weights and cache may take together.",
        ),
    )
    form.slot("memory_fraction")
    form.size("other_memory_bytes", "Used by other processes")
    form.put("other_memory_bytes", form.get("other_memory_bytes", 0))
    if form.held.accelerator_name is None and form.get("accelerator") is not None:
        form.size("total_memory_bytes", "Memory, if not the catalog's")


def _lengths(form: Form) -> None:
    form.whole("max_model_len", "Longest request accepted", most=LONGEST_CONTEXT, placeholder="the model's own limit")
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
        _pair(form, "state_dtype", parts, choices.STATE_FORMATS, str.upper)
    form.slot("state_dtype")
