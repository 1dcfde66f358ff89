"""Size catalog models on all accelerators: `python -m scripts.benchmark_sweep [SCENARIOS]`.

Prints the scenarios a second for verdict and capacity on one core, models being read included. The aim is 60,000
scenarios in under 30 seconds of processor time. 60,000 are every seventh of all models × engines × tensor-parallel
sizes × accelerators; fewer leave models out, so that each model is asked as often as it is among the 60,000.
"""

import itertools
import sys
import time
from collections.abc import Iterator, Sequence

from hardware_catalog import all_accelerators
from hardware_catalog.schema import Accelerator
from model_catalog.entry import Entry
from model_catalog.lookup import all_entries
from sizing.placement import PlacementError
from sizing.scenario import Scenario, ScenarioError
from sizing.size import answer_of, plan

ENGINES = ("vllm", "sglang", "llama.cpp")
TENSOR_PARALLEL = (1, 2, 4, 8)
AIM_SECONDS, AIM_SCENARIOS = 30, 60_000

Question = tuple[Entry, Accelerator, Scenario]


def questions(entries: Sequence[Entry], every: int) -> Iterator[Question]:
    """Each `every`-th of all models × engine × TP × accelerator, models outermost."""
    all_of_them = itertools.product(entries, ENGINES, TENSOR_PARALLEL, all_accelerators())
    for entry, engine, ranks, accelerator in itertools.islice(all_of_them, 0, None, every):
        values = {"model": entry.id, "engine": engine, "tensor_parallel": ranks, "accelerator": accelerator.id}
        yield entry, accelerator, Scenario.model_validate(values)


def chosen(most: int) -> list[Question]:
    entries = list(all_entries())
    every = max(1, len(entries) * len(ENGINES) * len(TENSOR_PARALLEL) * len(all_accelerators()) // AIM_SCENARIOS)
    return list(questions(entries[:: max(1, AIM_SCENARIOS // most)], every))


def refused(asked: Question) -> bool:
    """Answer a question; whether the engine refused it."""
    entry, accelerator, scenario = asked
    try:
        answer_of(plan(scenario, entry.spec, accelerator))
    except (ScenarioError, PlacementError):
        return True
    return False


def main(most: int) -> None:
    asked = chosen(most)
    wall, processor = time.perf_counter(), time.process_time()
    refusals = sum(map(refused, asked))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    rate = len(asked) / processor
    print(f"{len(asked):,} scenarios in {processor:.1f} s of processor time ({wall:.1f} s by the clock)")
    print(f"{refusals:,} refused with the engine's reason")
    print(f"{rate:,.0f} a second; {AIM_SCENARIOS:,} take {AIM_SCENARIOS / rate:.0f} s (aim: under {AIM_SECONDS} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else AIM_SCENARIOS)
