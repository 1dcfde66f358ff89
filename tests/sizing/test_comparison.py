"""Differences between scenarios: steps that add up, what heads kept twice cost, every option at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware_catalog import all_accelerators, get_accelerator
from model_catalog.lookup import find_entry
from sizing.comparison import GROUPS, SMALL, over_accelerators, over_values, waterfall
from sizing.engines.plan import EnginePlan
from sizing.placement import PlacementError
from sizing.room import room
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import plan, size

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
MODELS = (LLAMA, "google/gemma-3-27b-it", "Qwen/Qwen3.5-27B", "openai/gpt-oss-120b")
ENGINES = ("minimum", "transformers", "vllm", "sglang", "llama.cpp", "tensorrt-llm")


def planned(**values: object) -> EnginePlan:
    given_ = {"model": LLAMA, "engine": "minimum", "accelerator": "h100-sxm5-80gb"} | values
    scenario = make_scenario(given_)
    accelerator = get_accelerator(scenario.accelerator) if scenario.accelerator else None
    return plan(scenario, find_entry(scenario.model).spec, accelerator)


def gains(before: EnginePlan, after: EnginePlan) -> dict[str, int]:
    return {step.term: step.gain for step in waterfall(before, after).steps}


scenarios = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "engine": st.sampled_from(ENGINES),
        "accelerator": st.sampled_from(["h100-sxm5-80gb", "rtx-4090", None]),
        "tensor_parallel": st.sampled_from([1, 2, 4]),
        "data_parallel": st.sampled_from([1, 2]),
        "context_length": st.integers(1, 200_000),
        "batch_size": st.integers(1, 300),
        "kv_dtype": st.sampled_from(["auto", "fp8"]),
        "available_kv_bytes": st.sampled_from([None, None, 20 * 2**30]),
    }
)


@settings(max_examples=60, deadline=None)
@given(scenarios, scenarios)
def test_steps_add_up_to_the_byte(first: dict[str, object], second: dict[str, object]) -> None:
    try:
        before, after = planned(**first), planned(**second)
    except (ScenarioError, PlacementError):
        return
    between = waterfall(before, after)
    assert between.before + sum(step.gain for step in between.steps) == between.after
    assert all(abs(step.gain) >= SMALL for step in between.steps if step.term != "Other")
    if between.budgeted:
        assert (between.before, between.after) == (room(before), room(after))


def test_half_the_bytes_a_value_are_half_the_cache() -> None:
    """32 layers × 2 × 8 heads × 128 × 2 bytes × 8,192 tokens × 16 requests = 16 GiB; FP8 keeps half."""
    before, after = (
        planned(context_length=8192, batch_size=16),
        planned(context_length=8192, batch_size=16, kv_dtype="fp8"),
    )
    assert gains(before, after) == {"KV needed": 8 * 2**30}


def test_heads_that_two_gpus_keep_are_replication() -> None:
    """Eight KV heads over 16 GPUs: each GPU keeps one, as over eight, though its even share is half a head."""
    load = {"context_length": 8192, "batch_size": 16}
    eight, sixteen = planned(tensor_parallel=8, **load), planned(tensor_parallel=16, **load)
    steps = gains(eight, sixteen)
    assert steps["KV needed"] == 2**30  # 16 GiB / 8 − 16 GiB / 16
    projections = 32 * 2 * 4096 * 1024 * 2  # bytes of the weights that make keys and values: kept by eighths in both
    norms = 65 * 4096 * 2  # bytes that every GPU keeps
    assert steps["Replication"] == -(2**30) - projections // 16 - norms // 16


def test_a_larger_card_is_a_step_of_its_own() -> None:
    steps = gains(planned(), planned(accelerator="h200-sxm-141gb"))
    assert list(steps) == ["Budget"]
    assert steps["Budget"] > 40 * 2**30


def test_without_a_memory_the_need_is_compared() -> None:
    between = waterfall(planned(accelerator=None, batch_size=1), planned(batch_size=17))
    assert not between.budgeted
    assert between.after - between.before == -16 * 2**30  # 16 requests of 8,192 tokens


@pytest.mark.parametrize("engine", ENGINES)
def test_each_accelerator_answers_as_it_does_alone(engine: str) -> None:
    scenario = make_scenario({"model": LLAMA, "engine": engine, "context_length": 32_768, "batch_size": 16})
    spec = find_entry(LLAMA).spec
    options = over_accelerators(scenario, spec, all_accelerators())
    assert [option.key for option in options] == [each.id for each in all_accelerators()]
    for option in options[::12]:
        alone = scenario.model_copy(update={"accelerator": option.key})
        assert option.report == size(alone, spec, get_accelerator(option.key))
        if option.room is not None and option.room >= 0:
            assert option.gpus_needed == 1


@pytest.mark.parametrize("accelerator", ["h100-sxm5-80gb", "rtx-4090"])
def test_the_count_needed_fits_and_half_of_it_does_not(accelerator: str) -> None:
    model = "google/gemma-3-27b-it"
    scenario = make_scenario({"model": model, "context_length": 32_768, "batch_size": 16, "engine": "minimum"})
    (option,) = over_accelerators(scenario, find_entry(model).spec, [get_accelerator(accelerator)])
    needed = option.gpus_needed
    assert needed in GROUPS[1:]
    for gpus, fits in ((needed, True), (needed // 2, False)):
        alone = planned(
            model=model, context_length=32_768, batch_size=16, tensor_parallel=gpus, accelerator=accelerator
        )
        assert ((room(alone) or 0) >= 0) is fits


def test_what_cannot_be_says_why_and_the_rest_is_answered() -> None:
    scenario = make_scenario({"model": "Qwen/Qwen3.5-27B", "engine": "minimum", "accelerator": "h100-sxm5-80gb"})
    changes = {str(size_): {"tensor_parallel": size_} for size_ in (8, 16)}
    eight, sixteen = over_values(
        scenario, find_entry("Qwen/Qwen3.5-27B").spec, get_accelerator("h100-sxm5-80gb"), changes
    )
    assert eight.report is not None
    assert not eight.fault
    assert sixteen.report is None
    assert "24 attention heads" in sixteen.fault
