"""The fit finds again what its logs hold, and vLLM's constants are those of the sampler's published peaks."""

from typing import Any

import pytest

from scripts.fit import Case, case_of, fit, graph_estimates
from sizing.engines.calibration import GIB, VLLM

EMPTY: dict[str, Any] = dict.fromkeys(
    ("dtype", "engine_version", "speculative", "pipeline_parallel", "max_num_seqs", "max_num_batched_tokens")
)
EMPTY |= {"quantization": None, "enforce_eager": None, "limit_mm": None, "notes": None, "max_model_len": 16_000}
H100 = EMPTY | {"gpu": "H100", "gpu_memory_utilization": 0.9, "total_gpu_memory_gib": 79.18}


def log(id: str, model: str, ranks: int, weights: float, outside: float, peak: float, left: float) -> dict[str, Any]:  # noqa: A002
    """A row of llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md."""
    figures = {"weights_gib": weights, "non_torch_gib": outside, "activation_peak_gib": peak, "available_kv_gib": left}
    return H100 | {"id": id, "model": model, "tensor_parallel": ranks} | figures


LOGS = (
    log("v051", "meta-llama/Llama-3.1-8B-Instruct", 1, 14.99, 0.13, 4.76, 51.38),
    log("v052", "Qwen/Qwen3-0.6B", 1, 1.12, 0.13, 5.56, 64.45),
    log("v053", "Qwen/Qwen3-32B", 1, 61.03, 0.14, 5.64, 4.45),
    log("v054", "Qwen/Qwen3-32B", 2, 30.59, 0.54, 5.64, 34.49),
)


def cases() -> list[Case]:
    found = [case_of(each) for each in LOGS]
    assert all(isinstance(case, Case) for case in found)
    return [case for case in found if isinstance(case, Case)]


def test_terms_of_the_published_table() -> None:
    fitted = fit(cases(), {})
    assert fitted.logit_bytes == pytest.approx(VLLM.logit_bytes, rel=0.01)
    assert fitted.runtime == VLLM.runtime
    assert fitted.runtime + fitted.runtime_per_rank == pytest.approx(0.54 * GIB, rel=0.1)


def test_predictions_are_close() -> None:
    for case in cases():
        assert case.predicted(VLLM) == pytest.approx(case.available, rel=0.015)
        assert case.weights() == pytest.approx(case.log["weights_gib"] * GIB, rel=1e-3)


def test_unusable_logs_say_why() -> None:
    assert case_of(LOGS[0] | {"speculative": "mtp"}) == "a draft model is loaded"
    assert case_of(LOGS[0] | {"model": "somebody/unheard-of"}) == "the model is not in the catalog"


def test_estimates_are_read_from_notes() -> None:
    logs = [{"model": "a", "notes": f"log estimates CUDA graph {size} GiB"} for size in (1, 3)]
    assert graph_estimates([*logs, {"model": "b", "notes": None}]) == {"a": 2 * GIB}
