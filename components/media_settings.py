"""How many images, videos and audio clips a request may carry."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from components.form import Form, seeded
from components.scenario_state import WIDGET, moved
from sizing.media.limits import TEXT_ONLY

KINDS = {"image": "Images", "video": "Videos", "audio": "Audio"}
NONE = TEXT_ONLY.model_dump()
DEFAULT = ""


def draw(form: Form, label: str, help_: str | None) -> None:
    held = form.held.values.get("media_limits")
    shown = DEFAULT if held is None else "text" if held == NONE else "chosen"
    labels = {DEFAULT: "Default", "text": "Text only", "chosen": "Chosen below"}
    value = form.choose("media", label, list(labels), shown, format_func=labels.get, help=help_)
    if value == "chosen":
        form.put("media_limits", _chosen_limits(held if isinstance(held, Mapping) else {}))
    else:
        form.put("media_limits", NONE if value == "text" else None)
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
