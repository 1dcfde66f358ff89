"""What vLLM's profile leaves for the cache, held to public start-up logs."""

from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.answer import find_spec
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm import ENGINE
from sizing.engines.vllm.budget import stage_terms
from sizing.engines.vllm.rules import release_of, rules_of
from sizing.scenario import make_scenario
from sizing.size import size

GIB = 2**30
LLAMA = "meta-llama/Llama-3.1-8B"
NANO = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"


def planned(model: str, card: str = "h100-sxm5-80gb", **settings: Any) -> EnginePlan:
    values = {"model": model, "engine": "vllm", "engine_version": "0.11.0", "max_model_len": 16_000, **settings}
    return ENGINE.plan(make_scenario(values), find_entry(model).spec, get_accelerator(card))


def outside(model: str, card: str = "h100-sxm5-80gb", stage: int = 0, **settings: Any) -> int:
    """What appears outside of PyTorch, without what its allocator rounds up."""
    plan, accelerator = planned(model, card, **settings), get_accelerator(card)
    rules = rules_of(release_of(plan.scenario.engine_version)[1])
    return stage_terms(plan.scenario, plan.spec, rules, accelerator)[stage].runtime


@pytest.mark.parametrize(
    ("model", "settings", "activation", "available"),
    [
        # llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md, H100 of 79.18 GiB (v051 to v054)
        (LLAMA, {}, 4.76, 51.38),
        ("Qwen/Qwen3-0.6B", {}, 5.56, 64.45),
        ("Qwen/Qwen3-32B", {}, 5.64, 4.45),
        ("Qwen/Qwen3-32B", {"tensor_parallel": 2}, 5.64, 34.49),
    ],
)
def test_an_h100_with_the_default_settings(
    model: str, settings: dict[str, Any], activation: float, available: float
) -> None:
    plan = planned(model, memory_fraction=0.9, total_memory_bytes=round(79.18 * GIB), **settings)
    assert plan.ranks[0].activation / GIB == pytest.approx(activation, abs=0.01)
    assert (plan.ranks[0].available or 0) / GIB == pytest.approx(available, rel=0.005)


@pytest.mark.parametrize(
    ("model", "card", "settings", "available"),
    [
        ("meta-llama/Llama-3.1-8B", "l4", {"memory_fraction": 0.92, "max_num_seqs": 128}, 4.75),  # v150
        ("Qwen/Qwen3-30B-A3B", "h100-sxm5-80gb", {"tensor_parallel": 2, "max_num_seqs": 64}, 41.68),  # v148
    ],
)
def test_other_logs(model: str, card: str, settings: dict[str, Any], available: float) -> None:
    plan = planned(model, card, **settings)
    assert (plan.ranks[0].available or 0) / GIB == pytest.approx(available, rel=0.03)


def test_graphs_come_out_of_the_budget_from_0_20_on() -> None:
    """VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS is 0 in 0.19.0's envs.py and 1 in 0.20.0's."""
    assert planned(LLAMA, engine_version="0.19.0").ranks[0].graphs == 0
    assert planned(LLAMA, engine_version="0.20.0").ranks[0].graphs > 0
    assert planned(LLAMA, engine_version="0.33.0", enforce_eager=True).ranks[0].graphs == 0


def test_the_second_runner_estimated_no_graphs_before_0_29() -> None:
    """profile_cudagraph_memory returns 0 in v1/worker/gpu/model_runner.py of 0.28.0."""
    assert planned(LLAMA, engine_version="0.28.0").ranks[0].graphs == 0
    assert planned(LLAMA, engine_version="0.29.0").ranks[0].graphs > 0


def test_buffers_of_ranks_do_not_grow_with_their_number() -> None:
    """Llama-3.1-8B on 16 cards of 80 GB holds 536 to 568 sequences of 8,192 tokens (the owner's figures)."""
    settings: dict[str, Any] = {"engine_version": "0.33.0", "max_model_len": 8192}
    two, sixteen = (outside(LLAMA, tensor_parallel=ranks, **settings) for ranks in (2, 16))
    assert two == sixteen > outside(LLAMA)
    blocks = -(-8192 // 16)
    usable = planned(LLAMA, tensor_parallel=16, **settings).ranks[0].usable or 0
    assert 536 <= usable // (blocks * 16 * 16_384) <= 568


def test_ranks_without_links_have_no_such_buffers() -> None:
    """v213: 0.75 GiB beside the weights on two T4."""
    linked = outside(LLAMA, tensor_parallel=2)
    assert outside(LLAMA, "rtx-4090", tensor_parallel=2) == outside(LLAMA) < linked


def test_offloaded_weights_leave_the_card() -> None:
    """--cpu-offload-gb 4."""
    plain, offloaded = planned(LLAMA).ranks[0], planned(LLAMA, cpu_offload_bytes=4 * GIB).ranks[0]
    assert plain.weights - offloaded.weights == 4 * GIB


def test_ends_and_towers_stay_on_the_card_however_much_is_offloaded() -> None:
    """Embedding and output head of Llama-3.1-8B are 128,256 × 4,096 each, 2 bytes an element; only layers go through
    maybe_offload_to_cpu (make_layers of model_executor/models/utils.py)."""
    llama = planned(LLAMA, cpu_offload_bytes=2**40).ranks[0]
    assert llama.weights - 2 * 2 * 128_256 * 4096 == pytest.approx(2 * 131_072 * 128, abs=4096)  # and the rotary table
    seeing = "Qwen/Qwen3-VL-4B-Instruct"
    plain, offloaded = planned(seeing).ranks[0], planned(seeing, cpu_offload_bytes=2**40).ranks[0]
    assert offloaded.tower == plain.tower > 0
    assert planned(LLAMA, cpu_offload_bytes=2**40, tensor_parallel=2).ranks[0].weights > 2 * 128_256 * 4096


def test_adapter_slots() -> None:
    """Rank 16 on Llama-3.1-8B is 41,943,040 parameters (peft's count for all seven projections), 2 bytes each."""
    slots = {"max_loras": 2, "rank": 16}
    assert planned(LLAMA, lora=slots).ranks[0].weights - planned(LLAMA).ranks[0].weights == 2 * 2 * 41_943_040


@pytest.mark.parametrize(
    ("model", "ranks", "held"),
    [
        # Tensors of vLLM 0.33's own classes after loading, towers in and no rounding by the allocator
        ("Qwen/Qwen3-VL-4B-Instruct", 1, 9_069_094_752),
        ("Qwen/Qwen2.5-7B-Instruct", 4, 3_816_503_968),
        ("Qwen/Qwen3-4B", 8, 1_016_446_816),
    ],
)
def test_weights_are_the_tensors_and_the_log_counts_the_allocators_blocks(model: str, ranks: int, held: int) -> None:
    report = size(
        make_scenario({"model": model, "tensor_parallel": ranks, "engine_version": "0.33.0"}), find_spec(model)
    )
    assert report.per_gpu.weights_bytes == held
    assert held < (report.log.model_loading_bytes or 0) < 1.03 * held


def test_what_the_allocator_rounds_up_is_in_the_budget_once() -> None:
    plan = planned("Qwen/Qwen3-VL-8B-Instruct")
    rank = plan.ranks[0]
    assert rank.weights > rank.tower > 0
    taken = rank.weights + rank.draft + rank.activation + rank.graphs + rank.runtime
    assert plan.budget is not None and rank.available == plan.budget - taken
    assert (plan.log.model_loading_bytes or 0) > rank.weights + rank.draft


def test_communicators_are_charged_before_0_11() -> None:
    """vllm-project/vllm issue 21348 (v333): 8.11 GiB on four H100, by the constant of eight (v115)."""
    model = "Qwen/Qwen3-235B-A22B-FP8"
    four: dict[str, Any] = {"tensor_parallel": 4, "max_model_len": 40_960}
    old = planned(model, engine_version="0.9.2", **four).ranks[0]
    assert (old.available or 0) / GIB == pytest.approx(8.11, rel=0.03)
    assert outside(model, engine_version="0.9.2", **four) > outside(model, engine_version="0.11.0", **four)
    two = [outside(model, engine_version=release, tensor_parallel=2) for release in ("0.9.2", "0.11.0")]
    assert two[0] == two[1]


def test_replicas_of_a_mixture_talk_and_others_do_not() -> None:
    """0.61 GiB outside of PyTorch with two replicas of Qwen3-30B-A3B (a log of 0.12), as with two ranks (v054)."""
    mixture, alone = (planned("Qwen/Qwen3-30B-A3B", data_parallel=replicas).ranks[0] for replicas in (2, 1))
    talking = outside("Qwen/Qwen3-30B-A3B", data_parallel=2)
    assert talking / GIB == pytest.approx(0.61, rel=0.12)
    assert outside("Qwen/Qwen3-30B-A3B") == outside(LLAMA, data_parallel=2) < talking
    assert alone.weights > 1.8 * mixture.weights


def test_another_log_of_the_profile() -> None:
    """torch peak memory increase: 1.89GiB ... weights memory: 14.99GiB in an analysis of logs of 0.19.0."""
    assert planned(LLAMA, engine_version="0.19.0").ranks[0].activation / GIB == pytest.approx(1.89, abs=0.015)


def test_captured_graphs_leave_memory_outside_of_pytorch() -> None:
    """accuracy/accuracy_report.md of llm-d-planner: 0.13 GiB with 0.17.0, 0.25 from 0.18.0, 2.07 on two ranks."""
    before, after, eager, two = (
        outside(LLAMA, **changed) / GIB
        for changed in (
            {"engine_version": "0.17.0"},
            {"engine_version": "0.18.0"},
            {"engine_version": "0.18.0", "enforce_eager": True},
            {"engine_version": "0.19.0", "tensor_parallel": 2},
        )
    )
    assert eager == before == pytest.approx(0.13, abs=0.005)
    assert after == pytest.approx(0.25, abs=0.005)
    assert two == pytest.approx(2.07, abs=0.05)


def test_graphs_grow_with_the_layers() -> None:
    """Estimates of 0.19.0: 0.84 GiB with 42 layers (log v341), 1.63 with 80 (v360)."""
    few, many = (
        planned(model, engine_version="0.20.0", tensor_parallel=ranks).ranks[0].graphs / GIB
        for model, ranks in (("google/gemma-2-9b-it", 1), ("Qwen/Qwen2.5-72B-Instruct", 2))
    )
    assert few == pytest.approx(0.84, rel=0.1)
    assert many == pytest.approx(1.63, rel=0.1)


def test_later_stages_keep_what_they_receive() -> None:
    """Llama-3.1-8B with 0.19.0 on four stages: 2.01 GiB on the last, where one stage takes 1.89 (llm-d-planner)."""
    settings: dict[str, Any] = {"engine_version": "0.19.0", "max_model_len": 8192}
    whole = planned(LLAMA, **settings).ranks[0]
    stages = planned(LLAMA, **settings, pipeline_parallel=4).ranks
    assert whole.activation / GIB == pytest.approx(1.89, abs=0.01)
    assert stages[-1].activation / GIB == pytest.approx(2.01, abs=0.01)
    assert stages[1].activation - stages[0].activation == 2 * 2 * 8192 * 4096
    assert outside(LLAMA, **settings, pipeline_parallel=4) < outside(LLAMA, **settings)


def test_a_checkpoint_named_by_its_precision_is_not_read_as_16_bits() -> None:
    """Receipt v004: 18.21 GiB where 16 bits take 58.9. Its config.json does not say which tensors are NVFP4."""
    report = size(make_scenario({"model": NANO, "engine_version": "0.26.0"}), find_spec(NANO))
    assert (report.log.model_loading_bytes or 0) / GIB == pytest.approx(18.21, rel=0.05)
    assert report.grades.weights == "assumed"
    assert any("does not say which tensors are" in note for note in report.notes)


@pytest.mark.parametrize(("length", "peak"), [(20_000, 17.06), (29_000, 17.98)])
def test_an_eager_run_keeps_the_input_of_the_layer(length: int, peak: float) -> None:
    """vllm-project/vllm issue 10517: peak_torch_memory of the old engine beside 14.9888 GiB of weights."""
    rank = planned(LLAMA, "rtx-3090", engine_version="0.6.4", max_model_len=length).ranks[0]
    assert rank.activation / GIB == pytest.approx(peak - 14.9888, abs=0.0075)
