"""The engine's own settings, in its own words; what it would choose by itself stands in the empty fields."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from components import draft_settings
from components.form import Form, seeded
from components.format import listed
from components.scenario_state import WIDGET, Held, moved
from components.solve import solve
from sizing.engines import ENGINES
from sizing.engines.words import ENGINE_FIELDS, OPTIONS, Option
from sizing.scenario import LONGEST_CONTEXT, Scenario, SplitMode

FRACTIONS = {"memory_fraction": 1.0, "swa_full_tokens_ratio": 1.0, "mamba_full_memory_ratio": 100.0}  # the most
SIZES = ("cpu_offload_bytes",)
SWITCHES = (
    "enforce_eager",
    "prefix_caching",
    "hybrid_kv_cache_manager",
    "kv_unified",
    "flash_attention",
    "swa_full",
    "pooling",
    "kv_offload",
)
CHOICES = {"split_mode": get_args(SplitMode)}
NONE_TOO = ("gpu_layers", "cpu_moe_layers")  # settings of which 0 is one
ADAPTERS = ("vllm", "sglang")
DEFAULT = ""
KINDS = {"image": "Images", "video": "Videos", "audio": "Audio"}
TEXT_ONLY = dict.fromkeys(KINDS, 0)


def draw(form: Form) -> None:
    engine = form.get("engine")
    own = own_defaults(form.held)
    st.caption(ENGINES[engine].label)
    for name, option in OPTIONS[engine].items():
        _control(form, name, option, getattr(own, name, None))
    draft_settings.draw(form)
    if engine in ADAPTERS:
        _adapters(form)


def own_defaults(held: Held) -> Scenario | None:
    """The scenario as the engine resolves it where none of its settings is given."""
    values = {name: value for name, value in held.values.items() if name not in ENGINE_FIELDS}
    planned = solve(values, held.config_text).planned
    return planned.scenario if planned else None


def _control(form: Form, name: str, option: Option, own: Any) -> None:
    if name in SWITCHES:
        _switch(form, name, option.word, own)
    elif name in FRACTIONS:
        _fraction(form, name, option.word, own)
    elif name in SIZES:
        form.size(name, option.word)
    elif name == "media_limits":
        _media_limits(form, option.word)
    elif name in CHOICES:
        _choice(form, name, option.word, own)
    elif name == "tensor_split":
        _shares(form, name, option.word)
    elif name == "memory_by_gpu":
        form.sizes(name, option.word)
    else:
        least = 0 if name in NONE_TOO else 1
        form.whole(name, option.word, least=least, most=LONGEST_CONTEXT, placeholder=_shown(own))


def _shown(own: Any) -> str:
    if own is None:
        return "the engine's own"
    return f"{own:,}" if isinstance(own, int) else f"{own:.3g}"


def _fraction(form: Form, name: str, label: str, own: Any) -> None:
    seeded(name, form.held.values.get(name))
    value = st.number_input(
        label,
        min_value=0.0,
        max_value=FRACTIONS[name],
        step=0.01,
        value=None,
        placeholder=_shown(own),
        key=WIDGET + name,
        on_change=moved,
    )
    form.put(name, value)
    form.slot(name)


def _switch(form: Form, name: str, label: str, own: Any) -> None:
    usual = "Default" if own is None else f"Default: {'on' if own else 'off'}"
    labels = {DEFAULT: usual, "on": "On", "off": "Off"}
    held = form.held.values.get(name)
    shown = DEFAULT if held is None else "on" if held else "off"
    value = form.choose(name, label, list(labels), shown, format_func=labels.get)
    form.put(name, None if value == DEFAULT else value == "on")
    form.slot(name)


def _media_limits(form: Form, label: str) -> None:
    """How many images, videos and audio clips a request may carry."""
    held = form.held.values.get("media_limits")
    shown = DEFAULT if held is None else "text" if held == TEXT_ONLY else "chosen"
    labels = {DEFAULT: "Default", "text": "Text only", "chosen": "Chosen below"}
    value = form.choose("media", label, list(labels), shown, format_func=labels.get)
    if value == "chosen":
        form.put("media_limits", _chosen_limits(held if isinstance(held, Mapping) else {}))
    else:
        form.put("media_limits", TEXT_ONLY if value == "text" else None)
    form.slot("media_limits")


def _chosen_limits(held: Mapping[str, Any]) -> dict[str, int | None]:
    """An empty number leaves its kind to the engine."""
    chosen: dict[str, int | None] = {}
    for column, (kind, label) in zip(st.columns(len(KINDS), gap="small"), KINDS.items(), strict=True):
        with column:
            seeded(f"media_{kind}", held.get(kind))
            key = f"{WIDGET}media_{kind}"
            chosen[kind] = st.number_input(
                label, min_value=0, max_value=999, step=1, value=None, key=key, on_change=moved
            )
    return chosen


def _choice(form: Form, name: str, label: str, own: Any) -> None:
    usual = "Default" if own is None else f"Default: {own}"
    labels = {DEFAULT: usual} | {word: word for word in CHOICES[name]}
    held = form.held.values.get(name) or DEFAULT
    value = form.choose(name, label, list(labels), held, format_func=lambda word: labels.get(word, word))
    form.put(name, None if value == DEFAULT else value)
    form.slot(name)


def _shares(form: Form, name: str, label: str) -> None:
    """Numbers with commas between, one for each GPU."""
    held = form.held.values.get(name)
    seeded(name, listed(held) if isinstance(held, Sequence) and not isinstance(held, str) else held or "")
    text = st.text_input(label, key=WIDGET + name, on_change=moved, placeholder="such as 3,1")
    form.put(name, text.strip() or None)
    form.slot(name)


def _adapters(form: Form) -> None:
    held = form.held.values.get("lora")
    left, right = st.columns([1.35, 1], gap="small")
    with left:
        slots = _count("lora_slots", "LoRA slots", held["max_loras"] if isinstance(held, Mapping) else 0, least=0)
    if slots:
        with right:
            rank = _count("lora_rank", "Rank", held["rank"] if isinstance(held, Mapping) else 16)
        form.put("lora", {"max_loras": slots, "rank": rank})
    else:
        form.put("lora", None)
    form.slot("lora")


def _count(key: str, label: str, value: int, least: int = 1) -> int:
    seeded(key, value)
    return int(st.number_input(label, min_value=least, max_value=4096, step=1, key=WIDGET + key, on_change=moved))
