"""Bytes that vLLM 0.33's own classes hold on one rank (run on the meta device, a pretended SM90)."""

from typing import Any

import pytest

from model_catalog.lookup import find_entry
from sizing.engines.vllm.weights.allocator import counted
from sizing.engines.vllm.weights.stages import StageWeights, stage_weights
from sizing.scenario import make_scenario

MIB = 2**20


def held(model: str, capability: tuple[int, int] = (9, 0), **settings: object) -> list[StageWeights]:
    scenario = make_scenario({"model": model, "engine": "vllm", "max_num_batched_tokens": 8192, **settings})
    return stage_weights(scenario, find_entry(model).spec, capability)


@pytest.mark.parametrize(
    ("model", "tensor_parallel", "parameters", "beside"),
    [
        ("01-ai/Yi-34B", 1, 68_777_834_496, 1_050_016),
        ("01-ai/Yi-34B", 8, 8_598_747_136, 1_050_016),
        ("MiniMaxAI/MiniMax-M2.5", 1, 230_121_631_216, 25_167_312),  # fp32 routers
        ("google/gemma-4-31B-it", 1, 62_766_373_984, 402_697_642),  # keys that are values too, held twice
        ("deepseek-ai/DeepSeek-V3.2", 2, 338_080_333_408, 150_996_408),  # 16-bit index keys, fp32 tables, top-k
        ("Qwen/Qwen3.5-35B-A3B", 1, 70_214_365_792, 34_144_496),
        ("openai/gpt-oss-120b", 4, 17_368_614_144, 33_555_296),  # slices of 720 padded to 768
        ("deepseek-ai/DeepSeek-V4-Flash", 8, 20_644_900_892, 553_648_128),
    ],
)
def test_parameters_and_buffers(model: str, tensor_parallel: int, parameters: int, beside: int) -> None:
    (stage,) = held(model, tensor_parallel=tensor_parallel)
    assert stage.parameters == pytest.approx(parameters, rel=5e-4)
    assert stage.buffers == pytest.approx(beside, rel=2e-4)


def test_llama_is_exact_with_its_rotary_table() -> None:
    """V10: 16,060,522,496 + 33,554,432 + 768 bytes are 14.9888 GiB."""
    (stage,) = held("meta-llama/Llama-3.1-8B")
    assert stage.loaded == 16_060_522_496 + 33_554_432 + 768


def test_experts_are_shared_out_over_data_parallel_ranks_too() -> None:
    """Qwen3-235B-A22B as tp 2, dp 4, whole experts or slices."""
    whole = held("Qwen/Qwen3-235B-A22B", tensor_parallel=2, data_parallel=4, expert_parallel=True)
    slices = held("Qwen/Qwen3-235B-A22B", tensor_parallel=2, data_parallel=4)
    assert whole[0].parameters == slices[0].parameters


@pytest.mark.parametrize(
    ("model", "settings", "expected"),
    [
        ("deepseek-ai/DeepSeek-R1", {}, 2_046_820_352),
        ("deepseek-ai/DeepSeek-V3.2", {"tensor_parallel": 2}, 1_023_410_176),
        ("nvidia/Kimi-K2.5-NVFP4", {}, 0),  # its kv_b_proj is in 16 bits
        ("openai/gpt-oss-120b", {}, 215_285_760),
        ("openai/gpt-oss-120b", {"tensor_parallel": 4}, 35_389_440),
        ("openai/gpt-oss-20b", {"tensor_parallel": 8}, 2_949_120),
        ("openai/gpt-oss-20b", {"tensor_parallel": 2, "data_parallel": 4, "expert_parallel": True}, 4_485_120),
    ],
)
def test_what_loading_adds(model: str, settings: dict[str, Any], expected: int) -> None:
    assert held(model, **settings)[0].after_load == expected


@pytest.mark.parametrize(
    ("model", "capability", "release", "printed"),
    [
        ("openai/gpt-oss-120b", (9, 0), "0.10.1", 65.9651),  # v035: Marlin, for Triton's kernels did not come along
        ("openai/gpt-oss-120b", (9, 0), "0.14.1", 64.38),  # v049, v317: Triton, beside the scales that it was given
        ("openai/gpt-oss-20b", (9, 0), "0.14.1", 13.47),  # llm-d-planner, docs/empirical-vllm-memory-results.md
        ("openai/gpt-oss-20b", (8, 0), "0.19.0", 13.72),  # v041
    ],
)
def test_gpt_oss_by_kernel(model: str, capability: tuple[int, int], release: str, printed: float) -> None:
    (stage,) = held(model, capability, engine_version=release)
    assert (stage.loaded + stage.rounding) / 2**30 == pytest.approx(printed, rel=1e-3)


@pytest.mark.parametrize(("release", "intermediate"), [("0.26.0", 3072), ("0.27.0", 2944)])
def test_gpt_oss_on_sm100(release: str, intermediate: int) -> None:
    """mxfp4_round_up_hidden_size_and_intermediate_size: 2,880 to 3,072 and, by release, to 256 or 128."""
    (stage,) = held("openai/gpt-oss-120b", (10, 0), engine_version=release)
    (plain,) = held("openai/gpt-oss-120b", (9, 0))
    experts = 36 * 128 * 17 // 32 * 3
    biases = 36 * 128 * 2
    wider = (2 * intermediate + 3072 - 3 * 2880) * biases
    assert stage.parameters - plain.parameters == experts * (intermediate * 3072 - 2880 * 2880) + wider
    assert stage.after_load == (2 * intermediate + 3072) * biases


@pytest.mark.parametrize(("precision", "printed"), [("fp8", 8.1426), ("gptq-int4", 5.1811), ("bf16", 14.2488)])
def test_precisions_of_one_model(precision: str, printed: float) -> None:
    """v305 to v307: Qwen2.5-7B on an L40S, 0.8.5.post1; Marlin drops GPTQ's zero points and order of columns."""
    (stage,) = held("Qwen/Qwen2.5-7B-Instruct", (8, 9), weights=precision, engine_version="0.8.5.post1")
    assert (stage.loaded + stage.rounding) / 2**30 == pytest.approx(printed, rel=2e-3)


def test_metas_fp8_leaves_attention_and_the_ends() -> None:
    """v316 printed 57.7520 GiB a rank when the checkpoint had 16 KV heads; of 8 more, 126 layers hold 8.456 GB."""
    (stage,) = held("meta-llama/Llama-3.1-405B-Instruct-FP8", tensor_parallel=8, engine_version="0.5.3.post1")
    more = 126 * 2 * 8 * 128 * 16384 * 2 // 8
    assert (stage.loaded + stage.rounding + more) / 2**30 == pytest.approx(57.7520, rel=1e-4)


def test_joined_projections_of_a_gguf_file() -> None:
    """Q4_K_M has q6_k values in 18 of Qwen3-8B's 36 layers: 5,120 rows of 2,304 bytes become ones of 3,360. Norms go
    from 32 bits to 16."""
    (stage,) = held("Qwen/Qwen3-8B", weights="q4_k_m")
    assert stage.after_load == 18 * 5120 * (3360 - 2304) - 36 * (2 * 4096 + 2 * 128) * 2


def test_both_ends_on_every_stage() -> None:
    """Mixtral-8x22B: 141,013,856,256 bytes on each of two stages, but for the final norm."""
    stages = held("mistralai/Mixtral-8x22B-v0.1", pipeline_parallel=2)
    assert [stage.parameters for stage in stages] == pytest.approx([141_013_856_256] * 2, rel=1e-6)


@pytest.mark.parametrize(
    ("model", "tensor_parallel", "printed"),
    [("Qwen/Qwen2-7B-Instruct", 1, 14.2488), ("Qwen/Qwen3-4B", 1, 7.5552), ("Qwen/Qwen3-32B", 8, 7.6871)],
)
def test_model_loading_took(model: str, tensor_parallel: int, printed: float) -> None:
    (stage,) = held(model, tensor_parallel=tensor_parallel, engine_version="0.10.1.1")
    assert (stage.loaded + stage.rounding) / 2**30 == pytest.approx(printed, rel=2e-4)


def test_blocks_of_the_allocator() -> None:
    assert counted(1) == 512
    assert counted(11 * MIB) == 12 * MIB  # 1 MiB is not split off
    assert counted(11 * MIB - 512) == 11 * MIB - 512  # more is
    assert counted(21 * MIB - 512) == 21 * MIB - 512
    assert counted(21 * MIB - 512, unsplit=True) == 22 * MIB  # max_split_size_mb 20
    assert counted(11 * MIB - 512, unsplit=True) == 11 * MIB - 512


@pytest.mark.parametrize(
    ("model", "settings", "release", "printed"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", {}, "0.19.1", 14.25),  # v196
        ("Qwen/Qwen2.5-7B-Instruct", {}, "0.27.1", 14.29),  # v301
        ("Qwen/Qwen2.5-7B-Instruct", {"weights": "fp8"}, "0.27.1", 8.18),  # v302
        ("Qwen/Qwen2.5-1.5B-Instruct", {}, "0.28.0", 2.98),  # v323
    ],
)
def test_segments_are_not_split_since_0_21(model: str, settings: dict[str, Any], release: str, printed: float) -> None:
    (stage,) = held(model, (8, 9), engine_version=release, **settings)
    assert (stage.loaded + stage.rounding) / 2**30 == pytest.approx(printed, rel=3e-3)


def test_marlin_spreads_the_scales_of_fp8_blocks() -> None:
    """Before SM89 FP8 runs with Marlin, 2 bytes for each 128 weights where a block has 4: marlin_utils_fp8.py. The same
    makes 0.469 GiB of the experts of Qwen3.6-35B-A3B-FP8, which log v006 has more than FP8 takes."""
    (ampere,), (ada,) = (held("Qwen/Qwen3-32B", card, weights="fp8-block") for card in ((8, 0), (8, 9)))
    linears = 64 * (5120 * (8192 + 2 * 1024) + 8192 * 5120 + 3 * 5120 * 25600)
    assert ampere.after_load - ada.after_load == linears // 128 * 2 - linears // 128**2 * 4
