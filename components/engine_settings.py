"""The engine's own settings, in its own words; what it would choose by itself stands in the empty fields."""

from collections.abc import Sequence
from typing import Any, get_args

import streamlit as st

from components import adapter_settings, draft_settings, media_settings
from components.form import Form, seeded
from components.format import listed
from components.scenario_state import WIDGET, Held, moved
from components.setting_help import help_of
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


GROUPS = {
    "Memory": (
        "memory_fraction",
        "cpu_offload_bytes",
        "gpu_layers",
        "cpu_moe_layers",
        "kv_offload",
    ),
    "GPUs": ("split_mode", "tensor_split", "memory_by_gpu"),
    "Requests": (
        "max_model_len",
        "max_num_seqs",
        "max_num_batched_tokens",
        "chunked_prefill_size",
        "ubatch_size",
        "media_limits",
        "pooling",
    ),
    "Cache": (
        "block_size",
        "prefix_caching",
        "hybrid_kv_cache_manager",
        "kv_unified",
        "swa_full",
        "swa_full_tokens_ratio",
        "mamba_full_memory_ratio",
        "max_mamba_cache_size",
    ),
    "Kernels": ("enforce_eager", "flash_attention"),
}


def draw(form: Form) -> None:
    """Group by group those that say something for this model and its GPUs."""
    engine = form.get("engine")
    own = own_defaults(form.held)
    for group, names in GROUPS.items():
        shown = [name for name in names if name in OPTIONS[engine] and form.shows(name)]
        if shown:
            st.caption(group)
        for name in shown:
            _control(form, name, OPTIONS[engine][name], getattr(own, name, None))
    if ENGINES[engine].draft_methods:
        st.caption("Drafts and adapters" if engine in ADAPTERS else "Drafts")
        draft_settings.draw(form)
    if engine in ADAPTERS:
        adapter_settings.draw(form)


def own_defaults(held: Held) -> Scenario | None:
    """The scenario as the engine resolves it where none of its settings is given."""
    values = {name: value for name, value in held.values.items() if name not in ENGINE_FIELDS}
    planned = solve(values, held.config_text).planned
    return planned.scenario if planned else None


def _control(form: Form, name: str, option: Option, own: Any) -> None:
    label, help_ = label_of(option), help_of(form.get("engine"), name)
    if name in SWITCHES:
        _switch(form, name, label, own, help_)
    elif name in FRACTIONS:
        _fraction(form, name, label, own, help_)
    elif name in SIZES:
        form.size(name, label, help=help_)
    elif name == "media_limits":
        media_settings.draw(form, label, help_)
    elif name in CHOICES:
        _choice(form, name, label, own, help_)
    elif name == "tensor_split":
        _shares(form, name, label, help_)
    elif name == "memory_by_gpu":
        form.sizes(name, label, help=help_)
    else:
        least = 0 if name in NONE_TOO else 1
        form.whole(name, label, least=least, most=LONGEST_CONTEXT, placeholder=_shown(own), help=help_)


def label_of(option: Option) -> str:
    """An option's own name as it is; words of ours begin as a sentence does."""
    return option.word[0].upper() + option.word[1:] if " " in option.word else option.word


def _shown(own: Any) -> str:
    if own is None:
        return "the engine's own"
    return f"{own:,}" if isinstance(own, int) else f"{own:.3g}"


def _fraction(form: Form, name: str, label: str, own: Any, help_: str | None) -> None:
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
        help=help_,
    )
    form.put(name, value)
    form.slot(name)


def _switch(form: Form, name: str, label: str, own: Any, help_: str | None) -> None:
    usual = "Default" if own is None else f"Default: {'on' if own else 'off'}"
    labels = {DEFAULT: usual, "on": "On", "off": "Off"}
    held = form.held.values.get(name)
    shown = DEFAULT if held is None else "on" if held else "off"
    value = form.choose(name, label, list(labels), shown, format_func=labels.get, help=help_)
    form.put(name, None if value == DEFAULT else value == "on")
    form.slot(name)


def _choice(form: Form, name: str, label: str, own: Any, help_: str | None) -> None:
    usual = "Default" if own is None else f"Default: {own}"
    labels = {DEFAULT: usual} | {word: word for word in CHOICES[name]}
    held = form.held.values.get(name) or DEFAULT
    names = labels | {held: labels.get(held, held)}
    value = form.choose(name, label, list(labels), held, format_func=names.get, help=help_)
    form.put(name, None if value == DEFAULT else value)
    form.slot(name)


def _shares(form: Form, name: str, label: str, help_: str | None) -> None:
    """Numbers with commas between, one for each GPU."""
    held = form.held.values.get(name)
    seeded(name, listed(held) if isinstance(held, Sequence) and not isinstance(held, str) else held or "")
    text = st.text_input(label, key=WIDGET + name, on_change=moved, placeholder="such as 3,1", help=help_)
    form.put(name, text.strip() or None)
    form.slot(name)
