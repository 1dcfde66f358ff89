"""Time what should be fast against a floor measured in the same run: `python -m scripts.benchmark`.

Each line shows the measured time, the floor it is held to, their ratio and the ratio aimed for.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from hardware_catalog import all_accelerators, get_accelerator
from model_catalog.lookup import find_entry
from sizing.comparison import over_accelerators
from sizing.costs import model_cost
from sizing.engines import minimum
from sizing.map import bands_of, cells, frontier
from sizing.scenario import make_scenario

CELLS = 1000
WINDOWED, HYBRID = "google/gemma-3-27b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct"


def timed(work: Callable[[], object], repeats: int = 7) -> float:
    """Median seconds of `work`."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def show(name: str, seconds: float, floor: float, aim: float) -> None:
    ratio = seconds / floor
    print(f"{name:<58}{seconds * 1e3:>10.1f} ms{floor * 1e3:>10.1f} ms{ratio:>8.2f}×   aim ≤ {aim}×")


def million_cells() -> None:
    """One million batch × context cells against one numpy multiply of that size."""
    tokens = np.linspace(1, 1_000_000, CELLS, dtype=np.int64)[:, None]
    batch = np.arange(1, CELLS + 1, dtype=np.int64)[None, :]
    left, right = np.broadcast_arrays(tokens, batch)
    left, right = left.copy(), right.copy()
    floor = timed(lambda: left * right)
    for name in (WINDOWED, HYBRID):
        spec = find_entry(name).spec
        formats = minimum.RULES.formats(make_scenario({"model": name}), spec)
        cost = model_cost(spec, minimum.mixer_cost, formats)
        show(f"one million cells, {name}", timed(partial(cost.bytes, tokens, batch)), floor, 20)


def cold_command_line() -> None:
    """`python -m sizing` from cold against importing pydantic and numpy, both compiled by an earlier run."""
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=compiled)

    floor = timed(lambda: run("-c", "import pydantic, numpy"))
    model = ("--model", "meta-llama/Llama-3.1-8B-Instruct", "--accelerator", "h100-sxm5-80gb")
    show("python -m sizing, cold", timed(lambda: run("-m", "sizing", *model)), floor, 1.5)


def json_lines(count: int = 300) -> None:
    """Scenarios a second through --jsonl, start-up included."""
    models = ["meta-llama/Llama-3.1-8B-Instruct", WINDOWED, HYBRID, "deepseek-ai/DeepSeek-V3"]
    lines = [
        json.dumps({"model": models[i % 4], "accelerator": "h100-sxm5-80gb", "tensor_parallel": 2, "batch_size": i + 1})
        for i in range(count)
    ]
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "sizing", "--jsonl"],
        input="\n".join(lines),
        text=True,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    print(f"{'scenarios a second through --jsonl':<58}{count / (time.perf_counter() - start):>10.0f}      aim ≥ 20")


def map_with_overlays() -> None:
    """A map of 400 × 400 cells with six overlays: plans, frontiers of all seven and every cell of the scenario's."""
    overlays: list[dict[str, Any]] = [
        {},
        {"kv_dtype": "fp8"},
        {"weights": "fp8"},
        {"tensor_parallel": 2},
        {"accelerator": "b200-sxm"},
        {"engine": "sglang"},
        {"engine": "llama.cpp"},
    ]
    own = {"engine": "vllm", "accelerator": "h200-sxm-141gb"}

    def survey(model: str) -> None:
        spec = find_entry(model).spec
        lengths = np.geomspace(512, 262_144, 400).astype(np.int64).tolist()
        for overlay in overlays:
            scenario = make_scenario({"model": model, **own, **overlay})
            bands = bands_of(scenario, spec, get_accelerator(str(scenario.accelerator)), lengths)
            frontier(bands, 4096)
            if not overlay:
                cells(bands, lengths, range(1, 401))

    for model in (WINDOWED, HYBRID):
        seconds = timed(partial(survey, model))
        print(f"{f'400 × 400 cells, six overlays, {model}':<75}{seconds * 1e3:>7.1f} ms   aim < 100 ms")


def every_accelerator() -> None:
    """Compare's table: the answer for each accelerator of the catalog."""
    for model in (WINDOWED, HYBRID):
        scenario = make_scenario({"model": model, "engine": "vllm", "context_length": 32_768, "batch_size": 16})
        table = partial(over_accelerators, scenario, find_entry(model).spec, all_accelerators())
        print(f"{f'every accelerator, {model}':<75}{timed(table) * 1e3:>7.1f} ms   aim < 1,000 ms")


def main() -> None:
    million_cells()
    map_with_overlays()
    every_accelerator()
    cold_command_line()
    json_lines()


if __name__ == "__main__":
    main()
