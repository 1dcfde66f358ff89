"""A scenario that cannot be: the reason in the headline and at the control, and buttons that put it right."""

from typing import Any

import streamlit as st

from components import choices, wording
from components.form import Slots
from components.plain_text import literal
from components.scenario_state import Held, apply
from components.solve import Outcome, working_tensor_parallel
from components.url_state import ARRIVAL, DEFAULTS
from model_catalog.lookup import close_ids
from sizing.engines.words import OPTIONS

Fix = tuple[str, dict[str, Any]]
WITHOUT = {"speculative": "Use no draft", "lora": "Use no adapters", "media": "Use text alone"}
NAMES = {
    "kv_dtype": "the KV format",
    "speculative": "the draft",
    "lora": "the adapters",
    "media": "images, video and audio",
}


def draw(held: Held, outcome: Outcome, slots: Slots) -> None:
    fault = outcome.fault
    assert fault is not None
    if fault.field in slots:
        slots[fault.field].markdown(f":small[:red[:material/error: {literal(fault.message)}]]")
    st.title(wording.fault_line(fault, held), anchor=False)
    st.markdown(literal(fault.message))
    with st.container(horizontal=True, gap="small"):
        for index, (label, changes) in enumerate(fixes(held, outcome)):
            st.button(
                label,
                on_click=apply,
                args=(changes,),
                key=f"fix_{index}",
            )
    if outcome.planned:
        st.caption(f"Below is the same scenario with {_set_aside(held, outcome)} left out.")


def _set_aside(held: Held, outcome: Outcome) -> str:
    return " and ".join(words(field, str(held.values["engine"])) for field in outcome.set_aside)


def fixes(held: Held, outcome: Outcome) -> list[Fix]:
    """The nearest scenarios that work, nearest first."""
    fault = outcome.fault
    assert fault is not None
    if fault.field == "model":
        close = close_ids(str(held.values["model"]))
        return [(f"Use {choices.name_of(model)}", {"model": model}) for model in close or [ARRIVAL["model"]]]
    if fault.field == "tensor_parallel" and outcome.planned:
        return _splits(held, outcome)
    usual = DEFAULTS.get(fault.field)
    if fault.field not in DEFAULTS or held.values.get(fault.field) == usual:
        return []
    shown = "the default" if usual is None or usual is False else usual
    named = words(fault.field, str(held.values["engine"]))
    return [(WITHOUT.get(fault.field, f"Use {shown} for {named}"), {fault.field: usual})]


def _splits(held: Held, outcome: Outcome) -> list[Fix]:
    """Fewer GPUs, or the same number as stages of fewer."""
    assert outcome.planned is not None
    wanted = int(held.values["tensor_parallel"])
    scenario = outcome.planned.scenario.model_copy(update={"tensor_parallel": wanted})
    size = working_tensor_parallel(scenario, outcome.planned.spec)
    fewer: Fix = (f"Use {size} GPUs, TP {size}" if size > 1 else "Use 1 GPU", {"tensor_parallel": size})
    stages, rest = divmod(wanted, size)
    if rest or stages > outcome.planned.spec.num_layers or scenario.pipeline_parallel > 1:
        return [fewer]
    return [
        fewer,
        (f"TP {size} × PP {stages} on {wanted} GPUs", {"tensor_parallel": size, "pipeline_parallel": stages}),
    ]


def words(field: str, engine: str) -> str:
    """As the form calls it."""
    option = OPTIONS[engine].get(field)
    return option.word if option else NAMES.get(field, field.replace("_", " "))
