"""Slots for LoRA adapters, and their rank."""

from collections.abc import Mapping

import streamlit as st

from components.form import Form, count

MOST = 4096


def draw(form: Form) -> None:
    held = form.held.values.get("lora")
    left, right = st.columns([1.35, 1], gap="small")
    with left:
        slots = count(
            "lora_slots", "LoRA slots", held["max_loras"] if isinstance(held, Mapping) else 0, least=0, most=MOST
        )
    if slots:
        with right:
            rank = count("lora_rank", "Rank", held["rank"] if isinstance(held, Mapping) else 16, most=MOST)
        form.put("lora", {"max_loras": slots, "rank": rank})
    else:
        form.put("lora", None)
    form.slot("lora")
