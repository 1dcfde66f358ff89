"""Laws that hold for every engine: footprints add up, and capacity and verdict agree with each other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines import ENGINES
from sizing.placement import PlacementError
from sizing.report import Report
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import plan, report_of, size

MODELS = [
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-120b",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
]
scenarios = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "engine": st.sampled_from(sorted(ENGINES)),
        "context_length": st.integers(1, 200_000),
        "batch_size": st.integers(1, 500),
        "tensor_parallel": st.sampled_from([1, 2, 4, 8]),
        "data_parallel": st.sampled_from([1, 2]),
        "total_memory_bytes": st.integers(20 * 2**30, 2**40),
    }
)


def sized(values: dict[str, Any]) -> Report | None:
    """The report, or None where the engine rejects the settings."""
    try:
        return size(make_scenario(values), find_entry(values["model"]).spec, get_accelerator("h100-sxm5-80gb"))
    except (ScenarioError, PlacementError):
        return None


@settings(max_examples=150, deadline=None)
@given(scenarios)
def test_terms_free_and_outside_make_the_total(values: dict[str, Any]) -> None:
    report = sized(values)
    if report is None:
        return
    for footprint in (report.per_gpu, report.cluster):
        assert footprint.free_bytes is not None
        assert footprint.outside_budget_bytes is not None
        parts = footprint.static_bytes + footprint.cache_bytes + footprint.free_bytes + footprint.outside_budget_bytes
        assert parts == footprint.total_bytes


@settings(max_examples=150, deadline=None)
@given(scenarios)
def test_the_verdict_and_the_capacity_agree(values: dict[str, Any]) -> None:
    report = sized(values)
    if report is None:
        return
    capacity, fits = report.capacity, report.verdict.fits
    assert capacity.max_context_at_batch is not None
    assert fits == (capacity.max_context_at_batch >= values["context_length"])
    if capacity.max_batch_at_context is not None:
        assert fits == (capacity.max_batch_at_context >= values["batch_size"])


@settings(max_examples=100, deadline=None)
@given(scenarios)
def test_what_capacity_says_fits_and_one_more_does_not(values: dict[str, Any]) -> None:
    report = sized(values)
    if report is None or not report.capacity.max_batch_at_context:
        return
    most = report.capacity.max_batch_at_context
    at_most, more = sized(values | {"batch_size": most}), sized(values | {"batch_size": most + 1})
    assert at_most is not None
    assert at_most.verdict.fits
    assert more is None or not more.verdict.fits


@settings(max_examples=100, deadline=None)
@given(scenarios, st.lists(st.integers(1, 300_000), min_size=2, max_size=4))
def test_arrays_are_the_same_cells_and_reserved_is_at_least_live(values: dict[str, Any], lengths: list[int]) -> None:
    try:
        planned = plan(make_scenario(values), find_entry(values["model"]).spec, get_accelerator("h100-sxm5-80gb"))
    except (ScenarioError, PlacementError):
        return
    batch = np.array([1, 3, 40])
    for rank in planned.ranks:
        for ask in (rank.cache.kv, rank.cache.state, rank.cache.live, rank.cache.need):
            cells = np.broadcast_to(ask(np.array(lengths)[:, None], batch[None, :]), (len(lengths), 3))
            assert cells.tolist() == [[ask(tokens, b) for b in (1, 3, 40)] for tokens in lengths]
        for tokens in lengths:
            reserved = rank.cache.kv(tokens, 3) + rank.cache.state(tokens, 3)
            assert reserved >= rank.cache.live(tokens, 3) >= 0


def test_a_report_of_a_plan_is_the_report_of_its_scenario() -> None:
    scenario = make_scenario({"model": MODELS[0], "total_memory_bytes": 80 * 2**30})
    spec = find_entry(MODELS[0]).spec
    assert report_of(plan(scenario, spec)) == size(scenario, spec)


@pytest.mark.parametrize("ranks", [3, 5, 7])
def test_ranks_that_do_not_divide_the_heads_are_refused_with_those_that_do(ranks: int) -> None:
    spec = find_entry(MODELS[0]).spec
    with pytest.raises(PlacementError, match=r"Tensor parallel 1, 2, 4, 8, 16 and 32 work|Tensor parallel 1, 2, 4, 8"):
        size(make_scenario({"model": MODELS[0], "tensor_parallel": ranks}), spec)


def test_memory_of_other_processes_comes_out_of_the_budget() -> None:
    values = {"model": MODELS[0], "total_memory_bytes": 80 * 2**30, "engine": "minimum"}
    free, shared = sized(values), sized(values | {"other_memory_bytes": 20 * 2**30})
    assert free is not None
    assert shared is not None
    assert free.per_gpu.outside_budget_bytes == 80 * 2**30 - int(80 * 2**30 * 0.9)
    assert shared.per_gpu.outside_budget_bytes == 20 * 2**30


def test_the_replicated_latent_of_deepseek_v3_is_not_divided_by_tensor_parallelism() -> None:
    """8 ranks hold 8 copies: 70,272 B a token on each."""
    values = {"model": "deepseek-ai/DeepSeek-V3", "engine": "minimum", "context_length": 1000}
    one, eight = sized(values), sized(values | {"tensor_parallel": 8})
    assert one is not None
    assert eight is not None
    assert one.per_gpu.kv_bytes == eight.per_gpu.kv_bytes == 70_272_000
    assert eight.cache.reserved_bytes == 8 * 70_272_000
    assert eight.cache.logical_bytes == 70_272_000


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize(
    ("model", "kv_dtype"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", "auto"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "fp8"),
        ("tiiuae/falcon-7b", "fp8"),
        ("google/gemma-3-27b-it", "auto"),
        ("meta-llama/Llama-3.1-8B-Instruct", {"k": "q8_0", "v": "q4_0"}),
    ],
)
def test_the_logical_bytes_are_those_of_the_minimum_whatever_the_engine(
    engine: str, model: str, kv_dtype: str | dict[str, str]
) -> None:
    """Also where the engine keeps another format: DeepSeek-V4 in bf16, sparse latents as fp8_ds_mla."""
    values = {"model": model, "kv_dtype": kv_dtype, "context_length": 5000, "batch_size": 3}
    report, least = sized(values | {"engine": engine}), sized(values | {"engine": "minimum"})
    assert least is not None
    if report is not None:
        assert report.cache.logical_bytes == least.cache.logical_bytes
        assert report.cache.bytes_per_token == least.cache.bytes_per_token
        excess = sum(each.bytes for each in report.differences)
        assert excess == report.cache.reserved_bytes - report.cache.logical_bytes


def test_a_prefix_longer_than_the_default_context_is_refused() -> None:
    """The length is not stated, so it is that of max_model_len."""
    with pytest.raises(ScenarioError, match="A shared prefix of 100 tokens is longer than the 16 tokens"):
        size(
            make_scenario({"model": MODELS[0], "max_model_len": 16, "shared_prefix_tokens": 100}),
            find_entry(MODELS[0]).spec,
        )


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("stated", [{"context_length": 2000}, {"max_model_len": 4096}])
def test_a_length_beyond_the_models_own_limit_is_answered_with_a_note(engine: str, stated: dict[str, int]) -> None:
    """GPT-2 was made for 1,024 tokens; where no length is stated, it follows max_model_len."""
    report = sized({"model": "openai-community/gpt2", "engine": engine, **stated})
    assert report is not None
    assert any("more than the 1,024 this model was made for" in note for note in report.notes)


def test_weights_of_a_gguf_file_are_assumed_but_in_llama_cpp() -> None:
    model = "meta-llama/Llama-3.1-8B-Instruct"
    found = {
        engine: size(make_scenario({"model": model, "engine": engine, "weights": "q4_k_m"}), find_entry(model).spec)
        for engine in ("vllm", "sglang", "llama.cpp")
    }
    assert {engine: report.grades.weights for engine, report in found.items()} == {
        "vllm": "assumed",
        "sglang": "assumed",
        "llama.cpp": "exact",
    }
    assert any("GGUF file" in note for note in found["vllm"].notes)
