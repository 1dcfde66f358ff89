"""Remedies: single changes of a Scenario, each sized again by its engine, with the exact room that it gains."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from hardware_catalog import get_accelerator
from hardware_catalog.schema import Accelerator
from sizing.capacity import most_sequences
from sizing.engines.plan import EnginePlan
from sizing.levers.hardware import hardware_levers
from sizing.levers.load import load_levers
from sizing.levers.precision import precision_levers
from sizing.levers.settings import setting_levers
from sizing.levers.step import KINDS, Kind, Lever, Step
from sizing.placement import PlacementError
from sizing.report import Remedy
from sizing.room import room
from sizing.scenario import Scenario, ScenarioError, make_scenario
from sizing.shared_host import host_overflow
from sizing.size import plan

MOST = 12
ON_HOST = frozenset({"gpu_layers", "cpu_moe_layers"})


@dataclass(frozen=True, slots=True)
class Tried:
    """A step and what the engine makes of it. `left`: bytes of room on the GPU with the least."""

    step: Step
    kind: Kind
    planned: EnginePlan
    left: int


@dataclass(frozen=True, slots=True)
class Trial:
    """The scenario as it was asked, and what steps from it are tried with."""

    asked: Scenario
    planned: EnginePlan
    accelerator: Accelerator | None

    def take(self, step: Step, kind: Kind) -> Tried | None:
        """None where the engine turns the step away."""
        try:
            scenario = make_scenario(self.asked.model_dump() | dict(step.values))
            changed = step.values.get("accelerator")
            card = get_accelerator(changed) if changed else self.accelerator
            planned = plan(scenario, self.planned.spec, card)
        except (ScenarioError, PlacementError):
            return None
        left = room(planned)
        if _moves_nowhere(step, planned, card):
            return None
        return None if left is None else Tried(step, kind, planned, left)


def _moves_nowhere(step: Step, planned: EnginePlan, card: Accelerator | None) -> bool:
    """To host memory that is the GPU's own: what an engine offloads of its share, or more than both have."""
    if card is None or card.kind != "unified":
        return False
    return "cpu_offload_bytes" in step.values or bool(ON_HOST & step.values.keys() and host_overflow(planned, card))


def remedies(asked: Scenario, planned: EnginePlan, accelerator: Accelerator | None) -> tuple[Remedy, ...]:
    """Where the load does not fit: changes that make it fit, then those that help. Where it fits: room for more.

    `planned` is the plan of `asked`. At most one step of each lever, and none that gains nothing. Empty where no
    memory is known.
    """
    left = room(planned)
    if left is None:
        return ()
    trial = Trial(asked, planned, accelerator)
    if left < 0:
        found = [tried for lever in _levers(trial, short=True) if (tried := _enough(trial, lever))]
        helping = sorted((tried for tried in found if tried.left > left), key=_rank)
        return tuple(_remedy(tried, left) for tried in helping[:MOST])
    return _room_for_more(trial, left)


def _levers(trial: Trial, *, short: bool) -> Iterator[Lever]:
    asked, planned = trial.asked, trial.planned
    yield from setting_levers(asked, planned.scenario, planned.spec, planned.total_memory or 1, short=short)
    yield from precision_levers(asked, trial.accelerator)
    if short:
        yield from load_levers(planned)
    yield from hardware_levers(asked, trial.accelerator)


def _enough(trial: Trial, lever: Lever) -> Tried | None:
    """The smallest step that fits; where none does, the largest that the engine takes."""
    taken = ((at, trial.take(lever.steps[at], lever.kind)) for at in range(len(lever.steps) - 1, -1, -1))
    high, best = next(((at, tried) for at, tried in taken if tried), (0, None))
    low = 0
    while best is not None and best.left >= 0 and low < high:
        middle = (low + high) // 2
        tried = trial.take(lever.steps[middle], lever.kind)
        if tried is not None and tried.left >= 0:
            best, high = tried, middle
        else:
            low = middle + 1
    return best


def _room_for_more(trial: Trial, left: int) -> tuple[Remedy, ...]:
    """The nearest steps, by the requests that fit with them."""
    now = most_of(trial.planned)
    if now is None:
        return ()
    levers = _levers(trial, short=False)
    found = [_remedy(tried, left) for lever in levers for tried in _nearest(trial, lever)]
    more = [remedy for remedy in found if remedy.max_batch is None or remedy.max_batch > now]
    return tuple(sorted(more, key=_by_requests))[:MOST]


def _nearest(trial: Trial, lever: Lever) -> list[Tried]:
    """As many steps as are nearby, those left out that the engine turns away."""
    taken = (trial.take(step, lever.kind) for step in lever.steps)
    return list(islice((tried for tried in taken if tried), lever.nearby))


def _by_requests(remedy: Remedy) -> tuple[bool, int, int]:
    return remedy.max_batch is not None, -(remedy.max_batch or 0), -remedy.gain_bytes


def _rank(tried: Tried) -> tuple[bool, int, int]:
    """Those that fit by what is easiest to change, the others by how much they help."""
    return tried.left < 0, KINDS.index(tried.kind) if tried.left >= 0 else 0, -tried.left


def _remedy(tried: Tried, left: int) -> Remedy:
    return Remedy(
        change=tried.step.text,
        gain_bytes=tried.left - left,
        fits=tried.left >= 0,
        kind=tried.kind,
        values=dict(tried.step.values),
        max_batch=most_of(tried.planned),
    )


def most_of(planned: EnginePlan) -> int | None:
    """Requests of the scenario's length that fit; None without limit."""
    scenario = planned.scenario
    tokens = scenario.context_length or 1
    return most_sequences(lambda share: planned.room(tokens, share), scenario.data_parallel)
