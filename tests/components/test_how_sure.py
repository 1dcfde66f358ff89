"""The caption under the verdict says what the estimates' error makes of it."""

from typing import Any

from components.wording import how_sure
from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.report import Report
from sizing.scenario import make_scenario
from sizing.size import size

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def report(**values: Any) -> Report:
    scenario = make_scenario({"model": LLAMA, "accelerator": "h100-sxm5-80gb", "context_length": 8192} | values)
    return size(scenario, find_entry(LLAMA).spec, get_accelerator("h100-sxm5-80gb"))


def test_the_error_and_what_follows() -> None:
    """0.0171 of 79.18 GiB are 1.35."""
    far, near = report(), report(batch_size=report().capacity.max_batch_at_context)
    ending = "activations, CUDA graphs and runtime are estimates, together ±1.35 GiB"
    assert how_sure(far, "GiB").endswith(f"{ending}, so the verdict stands.")
    assert how_sure(near, "GiB").endswith(f"{ending}: too close to call.")


def test_engines_without_estimates_name_no_error() -> None:
    assert "±" not in how_sure(report(engine="minimum"), "GiB")
