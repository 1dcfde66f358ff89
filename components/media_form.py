"""What each request carries beside text, for models that see or hear."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from components.form import Form, count, seeded
from components.scenario_state import WIDGET, moved
from model_catalog.tensors import TensorClass
from sizing.media.limits import tower_kinds

USUAL_SIDE = 1024
COUNTS = ("images", "frames", "audio_seconds")  # a link without one of them says nothing
MOST = {"images": 999, "frames": 100_000, "width": 100_000, "height": 100_000}


def draw(form: Form) -> None:
    """Nothing for models of text alone. While it is closed its controls are not drawn, and their values are kept."""
    sees, hears = _senses(form)
    held = form.get("media")
    if not (sees or hears or held):
        return
    opened = form.expander(f"{_named(sees, hears)} in a request", ":material/image:", "carried", ("media",))
    if not opened:
        return
    given = held if isinstance(held, Mapping) else {}
    with opened:
        seen = _seen(given) if sees or given.get("images") or given.get("frames") else {}
        carried = seen | (_heard(given) if hears or given.get("audio_seconds") else {})
        form.put("media", carried if any(carried.get(name) for name in COUNTS) else None)
        form.slot("media")


def _named(sees: bool, hears: bool) -> str:
    if sees:
        return "Images and audio" if hears else "Images and video"
    return "Audio" if hears else "Images and audio"


def _senses(form: Form) -> tuple[bool, bool]:
    """Whether the model sees, and whether it hears."""
    spec = form.spec()
    kinds = tower_kinds(spec) if spec else frozenset()
    return TensorClass.VISION in kinds, TensorClass.AUDIO in kinds


def _seen(given: Mapping[str, Any]) -> dict[str, int]:
    labels = {"images": "Images", "frames": "Video frames", "width": "Width, pixels", "height": "Height, pixels"}
    usual = {"images": 0, "frames": 0, "width": USUAL_SIDE, "height": USUAL_SIDE}
    seen = {}
    for row in (("images", "frames"), ("width", "height")):
        for column, name in zip(st.columns(2, gap="small"), row, strict=True):
            with column:
                value, least = given.get(name) or usual[name], 0 if name in ("images", "frames") else 1
                seen[name] = count(f"carried_{name}", labels[name], value, least=least, most=MOST[name])
    return seen


def _heard(given: Mapping[str, Any]) -> dict[str, float]:
    seeded("carried_audio", float(given.get("audio_seconds") or 0))
    key = WIDGET + "carried_audio"
    seconds = st.number_input("Audio, seconds", min_value=0.0, max_value=86_400.0, key=key, on_change=moved)
    return {"audio_seconds": float(seconds)}
