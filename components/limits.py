"""The Limits tab: how far single settings can go for this load."""

from collections.abc import Iterator

import streamlit as st

from components import plain_table
from components.solve import Outcome
from sizing.engines.words import OPTIONS, word_of
from sizing.levers.hardware import gpus_text
from sizing.limits import Limits, limits_of
from sizing.scenario import Scenario


def draw(outcome: Outcome) -> None:
    assert outcome.asked is not None and outcome.planned is not None
    if outcome.planned.ranks[0].usable is None:
        st.caption("Limits can be told once a memory size is known.")
        return
    limits = limits_of(outcome.asked, outcome.planned.spec)
    plain_table.draw(["For this load", "Limit", "Condition"], list(rows(outcome.asked, limits)), numbers=[])


def rows(asked: Scenario, limits: Limits) -> Iterator[tuple[str, str, str]]:
    """What is asked, the answer, and what it means."""
    known = OPTIONS[asked.engine]
    if limits.longest_start is not None:
        name = word_of(asked.engine, "max_model_len")
        yield f"Largest {name}", f"{limits.longest_start:,}", "one request of that length fits the pool"
    if "memory_fraction" in known:
        least = limits.least_fraction
        name = word_of(asked.engine, "memory_fraction")
        yield f"Smallest {name}", "none suffices" if least is None else f"{least:.2f}", "with these GPUs"
    card = limits.smallest_card
    count = asked.placement.gpus
    yield "Smallest accelerator", card.name if card else "none suffices", f"{count:,} of the same vendor"
    fewest = limits.fewest_gpus
    yield "Fewest GPUs", gpus_text(fewest) if fewest else "64 do not suffice", "one copy of the model"
