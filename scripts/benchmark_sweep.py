"""Size all catalog models on all accelerators: `python -m scripts.benchmark_sweep [SCENARIOS]`.

Prints scenarios a second for plan and capacity on one core. The aim is 60,000 scenarios in under 30 seconds.
"""

import itertools
import sys
import time
from collections.abc import Iterator

from hardware_catalog import all_accelerators
from hardware_catalog.schema import Accelerator
from model_catalog.entry import Entry
from model_catalog.lookup import all_entries
from sizing.placement import PlacementError
from sizing.scenario import Scenario, ScenarioError
from sizing.size import size

ENGINES = ("vllm", "sglang", "llama.cpp")
TENSOR_PARALLEL = (1, 2, 4, 8)
AIM_SECONDS, AIM_SCENARIOS = 30, 60_000


def scenarios() -> Iterator[tuple[Entry, Accelerator, Scenario]]:
    """Every model × engine × TP × accelerator, models outermost."""
    for entry in all_entries():
        for engine, ranks, accelerator in itertools.product(ENGINES, TENSOR_PARALLEL, all_accelerators()):
            values = {"model": entry.id, "engine": engine, "tensor_parallel": ranks, "accelerator": accelerator.id}
            yield entry, accelerator, Scenario.model_validate(values)


def main(most: int) -> None:
    every = max(1, 288 * 3 * 4 * 125 // most)
    chosen = list(itertools.islice(scenarios(), 0, None, every))
    start, refused = time.perf_counter(), 0
    for entry, accelerator, scenario in chosen:
        try:
            size(scenario, entry.spec, accelerator)
        except (ScenarioError, PlacementError):
            refused += 1
    seconds = time.perf_counter() - start
    rate = len(chosen) / seconds
    print(f"{len(chosen):,} scenarios in {seconds:.1f} s, {refused:,} refused with the engine's reason")
    print(f"{rate:,.0f} a second; {AIM_SCENARIOS:,} take {AIM_SCENARIOS / rate:.0f} s (aim: under {AIM_SECONDS} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else AIM_SCENARIOS)
