"""Controls of the scenario: each starts from the scenario's value, keeps its own, and has a place for its fault."""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from components import choices
from components.applies import applies
from components.format import parse_size, size_entry
from components.scenario_state import WIDGET, Held, moved
from components.solve import find_model
from components.url_state import DEFAULTS
from model_catalog.fields import ConfigError
from model_catalog.lookup import UnknownModel
from model_catalog.spec import ModelSpec

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

    def expander(self, label: str, icon: str, key: str, fields: Iterable[str]) -> DeltaGenerator | None:
        """None while it is closed: its controls are not drawn then, and the scenario keeps their values.

        Faults of `fields` whose controls are not drawn are told above it.
        """
        self.slots = dict.fromkeys(fields, st.empty()) | self.slots
        opened = st.expander(label, icon=icon, key=key, on_change="rerun")
        return opened if opened.open else None

    def spec(self) -> ModelSpec | None:
        """The model, as far as it could be read."""
        try:
            return find_model(str(self.get("model")), self.held.config_text)
        except (ConfigError, UnknownModel):
            return None

    def is_set(self, name: str) -> bool:
        return bool(self.held.values.get(name, DEFAULTS[name]) != DEFAULTS[name])

    def shows(self, name: str) -> bool:
        """Whether a setting says anything here, or is set all the same."""
        return self.is_set(name) or applies(name, self.spec(), self._gpus())

    def _gpus(self) -> int:
        return prod(int(self.get(name, 1)) for name in ("tensor_parallel", "pipeline_parallel", "data_parallel"))

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

    def sizes(self, name: str, label: str, **more: Any) -> None:
        """Sizes with their units as text, with commas between. What cannot be read is kept as it was typed."""
        held = self.held.values.get(name)
        entries = held if isinstance(held, str) else ", ".join(size_entry(size) for size in held or ())
        seeded(name, entries)
        text = st.text_input(label, key=WIDGET + name, on_change=moved, placeholder="such as 24 GiB, 12 GiB", **more)
        sizes = [size_or_text(part) for part in text.split(",")]
        self.put(name, sizes if all(isinstance(size, int) for size in sizes) else text.strip() or None)
        self.slot(name)


def seeded(key: str, value: Any) -> Any:
    """Give a control its first value; later its own value stays. Returns the value it will show."""
    return st.session_state.setdefault(WIDGET + key, value)


def count(key: str, label: str, value: int, *, least: int = 1, most: int) -> int:
    """A whole number that is part of a field; the caller puts the field together."""
    seeded(key, value)
    return int(st.number_input(label, min_value=least, max_value=most, step=1, key=WIDGET + key, on_change=moved))


def size_or_text(text: str) -> int | str | None:
    if not text.strip():
        return None
    try:
        return parse_size(text)
    except ValueError:
        return text


def pair(
    form: Form, name: str, labels: dict[str, str], options: Sequence[str], format_func: Callable[[Any], str]
) -> None:
    """Two formats beside each other, the parts of one field."""
    held = form.get(name)
    chosen = {}
    for column, (part, label) in zip(st.columns(2, gap="small"), labels.items(), strict=True):
        with column:
            chosen[part] = form.choose(f"{name}_{part}", label, options, held[part], format_func=format_func)
    form.put(name, chosen)
