"""More GPUs, or larger ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hardware_catalog import all_accelerators
from hardware_catalog.schema import Accelerator
from hardware_catalog.shared_memory import shared_memory
from sizing.levers.step import Lever, Step
from sizing.scenario import ANOTHER_CARD, ANOTHER_COUNT, Scenario
from sizing.units import GIB

GPUS_OF_A_NODE = 8
MORE_GPUS = (2, 4, 8, 16)
NOTABLY_LARGER = 1.15
KINDS = ("consumer", "workstation", "datacenter")


def hardware_levers(asked: Scenario, accelerator: Accelerator | None) -> Iterator[Lever]:
    yield Lever("setting", list(_raised(asked, accelerator)), nearby=2)
    yield Lever("hardware", [_more_gpus(asked, times) for times in MORE_GPUS])
    if accelerator is not None:
        yield Lever("hardware", [_card_step(asked, card) for card in larger_cards(accelerator)], nearby=2)


def _raised(asked: Scenario, accelerator: Accelerator | None) -> Iterator[Step]:
    """A larger share of memory that CPU and GPU share, where the system allows it."""
    shared, now = shared_memory(accelerator), asked.total_memory_bytes or (memory(accelerator) if accelerator else 0)
    for limit in shared.raised if shared else ():
        if limit.bytes > now:
            text = f"GPU memory {now / GIB:.1f} → {limit.bytes / GIB:.1f} GiB ({limit.by})"
            yield Step(text, {"total_memory_bytes": limit.bytes})


def _more_gpus(asked: Scenario, times: int) -> Step:
    """Tensor parallel within a node, pipeline stages beyond."""
    ranks = max(asked.tensor_parallel, min(GPUS_OF_A_NODE, asked.tensor_parallel * times))
    more = ranks // asked.tensor_parallel
    stages = asked.pipeline_parallel * (times // more)
    values: dict[str, Any] = {"tensor_parallel": ranks} if more > 1 else {}
    if stages > asked.pipeline_parallel:
        values["pipeline_parallel"] = stages
    if asked.dp_attention and more > 1:
        values["data_parallel"] = asked.data_parallel * more
    values |= _given(asked, ANOTHER_COUNT)
    return Step(gpus_text(asked.model_copy(update=values)), values)


def gpus_text(scenario: Scenario) -> str:
    """2 GPUs, TP 2."""
    sizes = {
        "TP": scenario.tensor_parallel,
        "PP": scenario.pipeline_parallel,
        "DP": 1 if scenario.dp_attention else scenario.data_parallel,
    }
    gpus = scenario.placement.gpus
    if scenario.engine == "llama.cpp":
        return f"{gpus:,} GPUs, split by {'row' if scenario.split_mode == 'row' else 'layer'}"
    split = " × ".join(f"{name} {size}" for name, size in sizes.items() if size > 1)
    return f"{gpus:,} GPU{'s' if gpus > 1 else ''}{f', {split}' if split else ''}"


def _card_step(asked: Scenario, card: Accelerator) -> Step:
    """The card's own memory takes the place of a size that was given."""
    return Step(card.name.partition(" (")[0], {"accelerator": card.id, **_given(asked, ANOTHER_CARD)})


def _given(asked: Scenario, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the changes that change something."""
    return {field: value for field, value in changes.items() if getattr(asked, field) != value}


def memory(card: Accelerator) -> int:
    figure = card.memory_for_budget or card.memory_driver_bytes
    return figure.bytes if figure else 0


def larger_cards(accelerator: Accelerator) -> list[Accelerator]:
    """Of the same vendor and no older generation, each notably larger than the last; of like sizes the most alike."""
    chosen: list[Accelerator] = []
    left = sorted(_alternatives(accelerator), key=memory)
    while left := [card for card in left if memory(card) >= memory((chosen or [accelerator])[-1]) * NOTABLY_LARGER]:
        near = [card for card in left if memory(card) < memory(left[0]) * NOTABLY_LARGER]
        chosen.append(min(near, key=lambda card: _unlike(card, accelerator)))
    return chosen


def _alternatives(accelerator: Accelerator) -> Sequence[Accelerator]:
    capability = accelerator.compute_capability or (0, 0)
    return [
        card
        for card in all_accelerators()
        if alike(card, accelerator)
        and card.release_year is not None
        and (card.compute_capability or (0, 0)) >= capability
    ]


def alike(card: Accelerator, accelerator: Accelerator) -> bool:
    """Of one vendor, and both cards or both not."""
    kinds = KINDS if accelerator.kind in KINDS else (accelerator.kind,)
    return card.vendor == accelerator.vendor and card.kind in kinds


def _unlike(card: Accelerator, accelerator: Accelerator) -> tuple[int, bool]:
    """By what it is sold for, then by whether it is a module or a board."""
    near = 0 if accelerator.kind not in KINDS else abs(KINDS.index(card.kind) - KINDS.index(accelerator.kind))
    return near, ("SXM" in card.name) != ("SXM" in accelerator.name)
