"""One scenario against another: what each term adds to or takes from the room, and one scenario with every option.

Room is what the pool of the fullest GPU has left, in bytes; negative where it is short.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines import ENGINES
from sizing.engines.plan import EnginePlan
from sizing.placement import PlacementError
from sizing.report import Report
from sizing.room import fullest_load, room, tightest_rank
from sizing.scenario import ANOTHER_CARD, ANOTHER_COUNT, Scenario, ScenarioError
from sizing.size import plan, report_of

SMALL = 2**30 // 20  # steps below 0.05 GiB are told together
GROUPS = (1, 2, 4, 8, 16, 32, 64)  # tensor parallel sizes that are tried for "GPUs needed"
ALONE = {
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "data_parallel": 1,
    "decode_context_parallel": 1,
    "expert_parallel": False,
    "dp_attention": False,
}


@dataclass(frozen=True, slots=True)
class Step:
    """A term and the room that it gains per GPU, in bytes; negative where it takes room."""

    term: str
    gain: int


@dataclass(frozen=True, slots=True)
class Waterfall:
    """`before` + the gains of the steps = `after`, exactly. Without `budgeted` some memory is unknown, and both
    are the bytes needed, with a minus."""

    before: int
    steps: tuple[Step, ...]
    after: int
    budgeted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A scenario with one thing changed. With a `fault`, which says why it cannot be, there is no report.

    `gpus_needed` is the least number of GPUs on which it fits with tensor parallelism, where that was asked for.
    """

    key: str
    report: Report | None = None
    room: int | None = None
    gpus_needed: int | None = None
    fault: str = ""


def waterfall(before: EnginePlan, after: EnginePlan) -> Waterfall:
    """From the room of one scenario to that of another, on the tightest GPU of each.

    "Replication" is what a GPU holds beyond its even share of one copy: heads and norms that several GPUs keep, and
    uneven stages. "Pool rules" is what the engine's rounding and splitting of the pool takes.
    """
    budgeted = room(before) is not None and room(after) is not None
    given = any(each.scenario.available_kv_bytes is not None for each in (before, after))
    old, new = (_account(planned, budgeted, given) for planned in (before, after))
    gains = [Step(term, new[term] - old[term]) for term in old if new[term] != old[term]]
    return Waterfall(sum(old.values()), tuple(_gathered(gains)), sum(new.values()), budgeted)


def _account(planned: EnginePlan, budgeted: bool, given: bool) -> dict[str, int]:
    """What each term adds to the room, taken terms with a minus. The sum is the room, or the need with a minus."""
    rank, load = tightest_rank(planned), fullest_load(planned)
    taken = {
        "Weights": rank.weights - rank.tower,
        "Draft": rank.draft,
        "Encoder": rank.encoder + rank.tower,
        "Recurrent state": int(rank.cache.state(*load)),
        "KV needed": int(rank.cache.kv(*load)),
    }
    even = _even_shares(planned)
    beyond = {term: size - even.get(term, size) for term, size in taken.items()}
    runtime = {"Activations": rank.activation, "CUDA graphs": rank.graphs, "Runtime": rank.runtime}
    account = {"Budget": (planned.budget or 0) if budgeted else 0}
    account |= {term: -size for term, size in runtime.items()}
    account |= {term: beyond[term] - size for term, size in taken.items()}
    account |= {"Replication": -sum(beyond.values())}
    if budgeted and given:
        account |= dict.fromkeys(("Budget", *runtime, "Weights", "Draft", "Encoder"), 0)
        account["Replication"] = -beyond["Recurrent state"] - beyond["KV needed"]
    total = (room(planned) or 0) if budgeted else sum(account.values())
    account["Pool given" if given else "Pool rules"] = total - sum(account.values())
    return account


def _even_shares(planned: EnginePlan) -> dict[str, int]:
    """Weights, state and KV of one copy of the model on one GPU, divided by the GPUs; empty where it cannot be."""
    gpus = planned.scenario.placement.gpus
    if gpus == 1:
        return {}
    try:
        alone = ENGINES[planned.scenario.engine].plan(planned.scenario.model_copy(update=ALONE), planned.spec, None)
    except (ScenarioError, PlacementError):
        return {}
    (rank,) = alone.ranks
    load = planned.scenario.context_length or 1, planned.scenario.batch_size
    return {
        "Weights": (rank.weights - rank.tower) // gpus,
        "Recurrent state": int(rank.cache.state(*load)) // gpus,
        "KV needed": int(rank.cache.kv(*load)) // gpus,
    }


def _gathered(steps: Iterable[Step]) -> Iterator[Step]:
    """Small steps become one, so that the rest still adds up."""
    small = 0
    for step in steps:
        if abs(step.gain) < SMALL:
            small += step.gain
        else:
            yield step
    if small:
        yield Step("Other", small)


def over_accelerators(scenario: Scenario, spec: ModelSpec, accelerators: Iterable[Accelerator]) -> list[Option]:
    """The scenario on each accelerator, with the number of GPUs that it needs there."""
    wished = scenario.model_copy(update=ANOTHER_CARD | {"available_kv_bytes": None})
    return [
        _option(each.id, wished.model_copy(update={"accelerator": each.id}), spec, each, counted=True)
        for each in accelerators
    ]


def over_values(
    scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, changes: Mapping[str, Mapping[str, Any]]
) -> list[Option]:
    """The scenario with each of the changes, by their key."""
    return [_option(key, scenario.model_copy(update=dict(each)), spec, accelerator) for key, each in changes.items()]


def _option(
    key: str, scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, counted: bool = False
) -> Option:
    needed = _gpus_needed(scenario, spec, accelerator) if counted else None
    try:
        planned = plan(scenario, spec, accelerator)
    except (ScenarioError, PlacementError) as error:
        return Option(key=key, fault=error.message, gpus_needed=needed)
    return Option(key=key, report=report_of(planned), room=room(planned), gpus_needed=needed)


def _gpus_needed(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> int | None:
    """Tensor parallel over 1, 2, 4 … GPUs, the other groups as they are; None where it never fits."""
    for size in GROUPS:
        wished = scenario.model_copy(update={"tensor_parallel": size, **ANOTHER_COUNT})
        try:
            left = room(plan(wished, spec, accelerator))
        except (ScenarioError, PlacementError):
            continue
        if left is None:
            return None
        if left >= 0:
            return wished.placement.gpus
    return None
