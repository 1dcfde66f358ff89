"""How far one setting can go: the longest max_model_len that starts, the least share of memory, the smallest card and
the fewest GPUs for the load. Each answer is found by planning again, since budgets and defaults change with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hardware_catalog import all_accelerators, get_accelerator
from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.capacity import greatest
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan
from sizing.engines.words import OPTIONS
from sizing.levers.hardware import GPUS_OF_A_NODE, alike, memory
from sizing.placement import PlacementError
from sizing.room import fullest_load
from sizing.scenario import ANOTHER_CARD, ANOTHER_COUNT, Scenario, ScenarioError, make_scenario

LARGEST_HUNDREDTH = 99
USUAL_CARD = "h100-sxm5-80gb"  # where none is named
ONE_REPLICA = {"data_parallel": 1, "dp_attention": False, "decode_context_parallel": 1}
COUNTS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None where there is no such limit to tell, or nothing suffices. `fewest_gpus` holds the parallel sizes."""

    longest_start: int | None
    least_fraction: float | None
    smallest_card: Accelerator | None
    fewest_gpus: Scenario | None


def limits_of(asked: Scenario, spec: ModelSpec) -> Limits:
    """Of a scenario that its engine takes."""
    return Limits(
        longest_start=longest_start(asked, spec),
        least_fraction=least_fraction(asked, spec),
        smallest_card=smallest_card(asked, spec),
        fewest_gpus=fewest_gpus(asked, spec),
    )


def longest_start(asked: Scenario, spec: ModelSpec) -> int | None:
    """The longest max_model_len, up to the one resolved, of which the pool holds one sequence; 0 where none.

    vLLM refuses to start with more, TensorRT-LLM lowers it. None for engines without the setting.
    """
    planned = _planned(asked, spec, {})
    if "max_model_len" not in OPTIONS[asked.engine] or planned is None or planned.ranks[0].usable is None:
        return None
    longest = planned.scenario.max_model_len or 1

    def starts(length: int) -> bool:
        shorter = min(asked.context_length or length, length)
        values = {"max_model_len": length, "context_length": shorter, "average_context_length": None}
        values["shared_prefix_tokens"] = 0
        tried = _planned(asked, spec, values)
        return tried is not None and tried.fits(length, 1)

    return greatest(starts, longest)


def least_fraction(asked: Scenario, spec: ModelSpec) -> float | None:
    """The smallest share of memory, in hundredths, that holds the load."""
    if "memory_fraction" not in OPTIONS[asked.engine]:
        return None

    def short(hundredths: int) -> bool:
        return not _holds(_planned(asked, spec, {"memory_fraction": hundredths / 100}))

    too_small = greatest(short, LARGEST_HUNDREDTH)
    return None if too_small == LARGEST_HUNDREDTH else (too_small + 1) / 100


def smallest_card(asked: Scenario, spec: ModelSpec) -> Accelerator | None:
    """The released accelerator with the least memory that holds the load on as many GPUs.

    The vendor stays, and so does unified memory or memory of the card's own.
    """
    current = get_accelerator(asked.accelerator or USUAL_CARD)
    cards = [card for card in all_accelerators() if card.release_year is not None]
    for card in sorted((card for card in cards if alike(card, current)), key=memory):
        if _holds(_planned(asked, spec, {"accelerator": card.id, **ANOTHER_CARD})):
            return card
    return None


def fewest_gpus(asked: Scenario, spec: ModelSpec) -> Scenario | None:
    """The fewest of these GPUs that hold the load as one replica: tensor parallel in a node, stages of it beyond."""
    for values in chain.from_iterable(_splits(count) for count in COUNTS):
        changes = values | ONE_REPLICA | ANOTHER_COUNT
        if _holds(_planned(asked, spec, changes)):
            return asked.model_copy(update=changes)
    return None


def _splits(count: int) -> Iterator[dict[str, Any]]:
    """Of `count` GPUs, the most tensor parallel first."""
    ranks = min(count, GPUS_OF_A_NODE)
    while ranks >= 1:
        yield {"tensor_parallel": ranks, "pipeline_parallel": count // ranks}
        ranks //= 2


def _planned(asked: Scenario, spec: ModelSpec, values: dict[str, Any]) -> EnginePlan | None:
    """None where the engine turns it away."""
    try:
        scenario = make_scenario(asked.model_dump() | values)
        card = get_accelerator(scenario.accelerator) if scenario.accelerator else None
        return ENGINES[scenario.engine].plan(scenario, spec, card)
    except (ScenarioError, PlacementError):
        return None


def _holds(planned: EnginePlan | None) -> bool:
    return planned is not None and planned.fits(*fullest_load(planned))
