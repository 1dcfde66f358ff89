"""Slots for LoRA adapters, and their rank."""

from collections.abc import Mapping

import streamlit as st

from components.form import Form, seeded
from components.scenario_state import WIDGET, moved


def draw(form: Form) -> None:
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
