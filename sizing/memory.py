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


UNKNOWN = Memory(None, None, ("No memory size is known, so nothing is said about what fits.",))


def size_of(scenario: Scenario, figure: MemoryFigure | None) -> int | None:
    """Bytes of one GPU: the scenario's own figure if it has one, else the accelerator's."""
    return scenario.total_memory_bytes or (figure.bytes if figure else None)


def reading_notes(scenario: Scenario, figure: MemoryFigure | None) -> tuple[str, ...]:
    """Of an accelerator's memory that nobody has read: the rule that it follows, without its sources."""
    stated = scenario.total_memory_bytes or scenario.memory_by_gpu
    if stated or figure is None or figure.grade == "exact":
        return ()
    return (f"The accelerator's memory is not a reading but follows a {figure.source.partition(';')[0]}.",)


def memory_of(scenario: Scenario, figure: MemoryFigure | None) -> Memory:
    """The budget is memory_fraction of the size, rounded down.

    Other processes' memory comes out of the budget only as far as it does not fit beside it.
    """
    total = size_of(scenario, figure)
    if total is None:
        return UNKNOWN
    share = int(total * (scenario.memory_fraction or 1))
    return Memory(total, min(share, max(0, total - scenario.other_memory_bytes)), reading_notes(scenario, figure))


def shared_notes(scenario: Scenario, accelerator: Accelerator | None) -> tuple[str, ...]:
    """What share of its memory a machine leaves to the GPU, unless the scenario states a size of its own."""
    stated = scenario.total_memory_bytes or scenario.memory_by_gpu
    shared = None if stated else shared_memory(accelerator)
    return (shared.note,) if shared else ()
