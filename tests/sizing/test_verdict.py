"""What the estimates' error makes of a verdict."""

from typing import Any

import numpy as np
import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.cuts import cells_at
from sizing.engines.calibration import LLAMA_CPP_COMPUTE_ERROR, SGLANG_CONTEXT, SGLANG_LOADING, VLLM
from sizing.engines.plan import EnginePlan
from sizing.map import counts
from sizing.room import is_tight
from sizing.scenario import make_scenario
from sizing.size import plan, report_of
from sizing.units import GIB

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def planned(**values: Any) -> EnginePlan:
    scenario = make_scenario({"model": LLAMA, "accelerator": "h100-sxm5-80gb", "context_length": 8192} | values)
    return plan(scenario, find_entry(LLAMA).spec, get_accelerator(scenario.accelerator or ""))


def test_an_error_of_each_engine() -> None:
    """The receipts' share of an H100's memory; 0.16 of context by the fraction and 0.21 of loading; 90 MiB."""
    vllm = planned(engine="vllm")
    assert vllm.total_memory is not None
    assert vllm.error_bytes == round(VLLM.error_share * vllm.total_memory)
    sglang = planned(engine="sglang", memory_fraction=0.5)
    assert sglang.error_bytes == pytest.approx((0.16 * 0.5 + 0.21) * GIB, abs=2)
    assert sglang.error_bytes < SGLANG_CONTEXT.error_bytes + SGLANG_LOADING.error_bytes
    assert planned(engine="llama.cpp").error_bytes == LLAMA_CPP_COMPUTE_ERROR == 90 << 20
    assert planned(engine="minimum").error_bytes == 0


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_a_pool_that_is_given_has_no_error(engine: str) -> None:
    assert planned(engine=engine, available_kv_bytes=8 * GIB).error_bytes == 0


def test_unified_memory_is_less_sure() -> None:
    assert planned(accelerator="dgx-spark-gb10").error_bytes > planned().error_bytes


def test_both_sides_of_the_band() -> None:
    """Batches about the most that fits: well below it stands, next to it nothing can be said on either side."""
    most = report_of(planned()).capacity.max_batch_at_context
    assert most is not None
    verdicts = [report_of(planned(batch_size=batch)).verdict for batch in (most // 2, most, most + 1, 2 * most)]
    assert [each.state for each in verdicts] == ["fits", "tight", "short", "short"]
    assert [each.stands for each in verdicts] == [True, False, False, True]


def test_within_the_error_is_tight_where_more_than_a_twentieth_is_left() -> None:
    assert is_tight(9, 100, 10)
    assert not is_tight(10, 100, 10)
    assert is_tight(4, 100, 0)
    assert not is_tight(5, 100, 0)


def test_cells_of_a_map_are_tight_alike() -> None:
    at = planned(accelerator="l4")
    cells = cells_at(at, *counts(at, [1024], np.arange(1, 80).tolist()))
    assert cells.verdicts is not None
    reports = [
        report_of(planned(accelerator="l4", context_length=1024, batch_size=b)).verdict.state for b in range(1, 80)
    ]
    assert cells.verdicts.ravel().tolist() == reports
    assert {"fits", "tight", "short"} == set(reports)
