"""Find accelerators: all in picker order, one by id, or one that the user describes by its size alone."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from hardware_catalog import memory_rules as rules
from hardware_catalog.schema import Accelerator, MemoryFigure

_DATA = Path(__file__).parent / "data" / "accelerators.json"
LARGEST_CUSTOM_BYTES = 2**50


class UnknownAccelerator(ValueError):
    """No accelerator has this id; the message names the closest ones."""


@cache
def all_accelerators() -> tuple[Accelerator, ...]:
    """Every accelerator in picker order, which is the order of the data file.

    Datacenter (newest first, unreleased last), workstation, consumer, unified memory (Apple last), TPUs,
    other chips.
    """
    return tuple(_accelerator(row) for row in json.loads(_DATA.read_bytes()))


def get_accelerator(accelerator_id: str) -> Accelerator:
    """The accelerator with this id. Raises UnknownAccelerator with a sentence that suggests close ids."""
    try:
        return _by_id()[accelerator_id]
    except KeyError:
        raise UnknownAccelerator(_unknown_sentence(accelerator_id)) from None


def custom_accelerator(name: str, total_memory_bytes: int) -> Accelerator:
    """An accelerator known only by the memory that an engine sees on it.

    Raises ValueError for a size of zero, below, or above 1 PiB.
    """
    if not 0 < total_memory_bytes <= LARGEST_CUSTOM_BYTES:
        raise ValueError(f"total_memory_bytes is {total_memory_bytes}; a size above 0 and up to 1 PiB is needed.")
    memory = MemoryFigure(bytes=total_memory_bytes, grade="exact", source="given by the user")
    return Accelerator(id="custom", name=name, vendor="custom", kind="custom", memory_cuda_bytes=memory)


@cache
def _by_id() -> dict[str, Accelerator]:
    return {accelerator.id: accelerator for accelerator in all_accelerators()}


def _accelerator(row: dict[str, Any]) -> Accelerator:
    """A row of the data file with its two readings, where it has them, replaced by the two memory figures."""
    driver, cuda = row.pop("driver_reading", None), row.pop("cuda_reading", None)
    driver_figure = MemoryFigure(grade="exact", **driver) if driver else _driver_by_rule(row)
    cuda_figure = MemoryFigure(grade="exact", **cuda) if cuda else _cuda_by_rule(row, driver_figure)
    return Accelerator(memory_driver_bytes=driver_figure, memory_cuda_bytes=cuda_figure, **row)


def _driver_by_rule(row: dict[str, Any]) -> MemoryFigure | None:
    """None for unified memory, where no driver tool shows a total of its own."""
    nominal = row.get("memory_marketing_gb")
    if nominal is None or row["kind"] == "unified":
        return None
    return rules.driver_from_nominal(nominal, row["vendor"], row["kind"], row.get("memory_type"))


def _cuda_by_rule(row: dict[str, Any], driver: MemoryFigure | None) -> MemoryFigure | None:
    nominal = row.get("memory_marketing_gb")
    if driver is not None and row["vendor"] == "NVIDIA":
        return rules.cuda_from_driver(driver)
    if driver is not None:
        source = f"rule: equal to the driver total, as HIP reads on AMD cards; {driver.source}"
        return driver.model_copy(update={"grade": "assumed", "source": source, "error_bytes": None})
    if nominal is None:
        return None
    return rules.metal_working_set(nominal) if row["vendor"] == "Apple" else rules.unified_nvidia(nominal)


def _unknown_sentence(accelerator_id: str) -> str:
    close = _closest_ids(accelerator_id)
    advice = f"Close ids: {', '.join(close)}." if close else "An id looks like h100-sxm5-80gb."
    return f'accelerator "{accelerator_id[:80]}" is not in the catalog. {advice}'


def _closest_ids(text: str, count: int = 3) -> list[str]:
    """Ids that contain every word of the text, then ids spelled alike."""
    from difflib import get_close_matches  # only a wrong id needs it

    wanted = text[:80].lower().replace("_", "-").replace(" ", "-").strip("-")
    words = [word for word in wanted.split("-") if word]
    containing = [known for known in _by_id() if words and all(word in known for word in words)]
    alike = get_close_matches(wanted, _by_id(), n=count, cutoff=0.5)
    return list(dict.fromkeys(containing + alike))[:count]
