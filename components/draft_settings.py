"""Speculation: its method in the engine's own words, the tokens drafted at a time, and the checkpoint that drafts."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from components import choices
from components.form import Form, count
from sizing.engines import ENGINES

NONE = ""
MOST_TOKENS = 4096
WHOLE_MODEL = "model"  # heads are published in one precision each


def draw(form: Form) -> None:
    engine = ENGINES[form.get("engine")]
    held = form.held.values.get("speculative")
    given: dict[str, Any] = dict(held) if isinstance(held, Mapping) else {"method": NONE}
    left, right = st.columns([1.35, 1], gap="small")
    with left:
        method = form.choose(
            "draft_method",
            "Speculation",
            [NONE, *engine.draft_methods],
            given["method"],
            format_func=lambda name: name or "None",
        )
    if method == NONE:
        form.put("speculative", None)
    else:
        given = given if given["method"] == method else {"method": method}
        with right:
            given["tokens"] = count("draft_tokens", "Its tokens", given.get("tokens", 1), most=MOST_TOKENS)
        if needs := engine.draft_methods.get(method):
            given["model"] = _model(form, given, needs)
            given["weights"] = _weights(form, given) if needs == WHOLE_MODEL else None
        form.put("speculative", given)
    form.slot("speculative")


def _model(form: Form, given: Mapping[str, Any], needs: str) -> str | None:
    """Checkpoints that suit the model and the method, or any id."""
    suited = choices.drafts(form.get("model"), needs)
    shown = given.get("model") or next(iter(suited), NONE)
    chosen = form.choose(
        f"draft_model_{given['method']}",
        "Draft model",
        [NONE, *suited],
        shown,
        format_func=lambda name: choices.name_of(name) or "None",
        accept_new_options=True,
        help="Pick a checkpoint that was made for this model, or type the Hugging Face id of another.",
    )
    return choices.model_id(chosen) or None if chosen else None


def _weights(form: Form, given: Mapping[str, Any]) -> str | None:
    chosen = form.choose(
        "draft_weights",
        "Draft weights",
        choices.weights_options(),
        given.get("weights") or choices.AUTO,
        format_func=choices.weights_label,
    )
    return None if chosen == choices.AUTO else str(chosen)
