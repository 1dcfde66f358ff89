"""The Limits tab: how far single settings can go for this load."""

from collections.abc import Iterator

import streamlit as st

from components import plain_table
from components.format import both_units
from components.solve import Outcome
from sizing.engines.plan import EnginePlan
from sizing.engines.words import OPTIONS, word_of
from sizing.levers.hardware import gpus_text
from sizing.limits import Limits, limits_of
from sizing.mixed import mixed_load
from sizing.scenario import Scenario


def draw(outcome: Outcome) -> None:
    assert outcome.asked is not None and outcome.planned is not None
    if outcome.planned.ranks[0].usable is None:
        st.caption("Limits can be told once a memory size is known.")
        return
    limits = limits_of(outcome.asked, outcome.planned.spec)
    for sentence in mixed_words(outcome.planned):
        st.caption(sentence)
    plain_table.draw(["For this load", "Limit", "Condition"], list(rows(outcome.asked, limits)), numbers=[])


def mixed_words(planned: EnginePlan) -> Iterator[str]:
    """What a load of mixed lengths comes to, where an average is given."""
    mixed, scenario = mixed_load(planned), planned.scenario
    if mixed is None:
        return
    most = "any number" if mixed.max_batch is None else f"{mixed.max_batch:,}"
    yield (
        f"At an average of {scenario.average_context_length:,} tokens and at most {scenario.context_length:,}, "
        f"{most} requests run at once; {scenario.batch_size:,} use {both_units(mixed.live_bytes_per_gpu)} on each GPU."
    )


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
