"""The memory of one GPU and the share of it that an engine may use."""

from dataclasses import dataclass

from hardware_catalog.schema import Accelerator, MemoryFigure
from hardware_catalog.shared_memory import shared_memory
from sizing.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one GPU; None where no size is known."""

    total: int | None
    budget: int | None
    notes: tuple[str, ...] = ()


def memory_of(scenario: Scenario, figure: MemoryFigure | None) -> Memory:
    """The scenario's own figure if it has one, else `figure`. The budget is memory_fraction of it, rounded down.

    Other processes' memory comes out of the budget only as far as it does not fit beside it.
    """
    total = scenario.total_memory_bytes or (figure.bytes if figure else None)
    if total is None:
        return Memory(None, None, ("No memory size is known, so nothing is said about what fits.",))
    share = int(total * (scenario.memory_fraction or 1))
    notes = []
    if scenario.total_memory_bytes is None and figure and figure.grade != "exact":
        notes.append(not_read(figure))
    return Memory(total, min(share, max(0, total - scenario.other_memory_bytes)), tuple(notes))


def not_read(figure: MemoryFigure) -> str:
    """Of a figure that nobody has read from the accelerator: the rule that it follows, without its sources."""
    return f"The accelerator's memory is not a reading but follows a {figure.source.partition(';')[0]}."


def shared_notes(scenario: Scenario, accelerator: Accelerator | None) -> tuple[str, ...]:
    """What share of its memory a machine leaves to the GPU, unless the scenario states a size of its own."""
    stated = scenario.total_memory_bytes or scenario.memory_by_gpu
    shared = None if stated else shared_memory(accelerator)
    return (shared.note,) if shared else ()
