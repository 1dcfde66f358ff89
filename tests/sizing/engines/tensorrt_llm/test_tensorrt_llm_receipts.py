"""Engine tensorrt-llm against figures of public start-up logs."""

from typing import Any

from hardware_catalog.lookup import get_accelerator
from model_catalog.lookup import find_entry
from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.engines.tensorrt_llm import ENGINE
from sizing.engines.tensorrt_llm.planning import ACTIVATION_ERROR
from sizing.scenario import make_scenario
from tests.sizing.engines.tensorrt_llm.models import GPT_OSS_20B, LLAMA_8B, MHA_7B, QWEN3_06B, TINYLLAMA, plan_of

GIB = 2**30
HALF_DIGIT = 0.005


def share(free: float, fraction: float = 0.9) -> int:
    return int(free * GIB * fraction)


def plan_with(accelerator: str, spec: ModelSpec) -> EnginePlan:
    asked = make_scenario({"model": "test", "engine": "tensorrt-llm", "accelerator": accelerator})
    return ENGINE.plan(asked, spec, get_accelerator(accelerator))


def with_blocks(spec: ModelSpec, blocks: int, **settings: Any) -> EnginePlan:
    """A plan whose budget is just what so many blocks need."""
    tokens = blocks * (plan_of(spec, **settings).scenario.block_size or 1)
    need = int(plan_of(spec, **settings, max_model_len=tokens).ranks[0].cache.need(tokens, 1))
    return plan_of(spec, **settings, available_kv_bytes=need)


def test_llama_31_8b_with_an_fp8_cache() -> None:
    """t001, https://github.com/NVIDIA/TensorRT-LLM/issues/4275#issuecomment-2941155249: 0.9 of 17.83 GiB."""
    settings = {"kv_dtype": "fp8", "engine_version": "0.19.0"}
    low, high = (
        plan_of(LLAMA_8B, **settings, available_kv_bytes=share(17.83 + off)).printed.num_blocks or 0
        for off in (-HALF_DIGIT, HALF_DIGIT)
    )
    assert low <= 8219 <= high
    assert plan_of(LLAMA_8B, **settings, available_kv_bytes=share(17.83)).printed.num_blocks == 8217
    planned = with_blocks(LLAMA_8B, 8219, **settings)
    assert planned.printed.kv_tokens == 263_008
    assert planned.log.lines == (
        "Number of blocks in KV cache primary pool: 8219",
        "Number of tokens per block: 32.",
        "[MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008).",
    )


def test_qwen15_7b_has_blocks_of_64_tokens_in_013() -> None:
    """t004, https://github.com/NVIDIA/TensorRT-LLM/issues/2268: 0.9 of 21.89 GiB are 630.4 blocks, rounded up."""
    planned = plan_of(MHA_7B, engine_version="0.13.0.dev2024082000", available_kv_bytes=share(21.89))
    assert planned.printed.num_blocks == 631
    assert planned.scenario.block_size == 64


def test_the_size_of_a_given_number_of_tokens() -> None:
    """t006, public log of Qwen3-Reranker-0.6B; t005, https://github.com/triton-inference-server/tutorials/pull/150.

    t005 names no model: 22,528 bytes a token are TinyLlama's.
    """
    reranker = with_blocks(QWEN3_06B, 643_136 // 32)
    assert reranker.log.lines[-1].endswith("Allocated 68.69 GiB for max tokens in paged KV cache (643136).")
    tiny = with_blocks(TINYLLAMA, 116_617)
    assert tiny.log.lines[-1].endswith("Allocated 78.30 GiB for max tokens in paged KV cache (3731744).")


def test_the_log_of_the_projects_own_memory_page() -> None:
    """https://nvidia.github.io/TensorRT-LLM/_sources/reference/memory.md.txt: 0.9 of 70.48 GiB, 262,144 bytes a token.

    The page names no model; an fp8 cache of a 7B model with 32 heads has that many.
    """
    planned = plan_of(MHA_7B, kv_dtype="fp8", engine_version="0.13", available_kv_bytes=share(70.48))
    assert planned.log.lines == (
        "Number of blocks in KV cache primary pool: 4060",
        "Number of tokens per block: 64.",
        "[MemUsageChange] Allocated 63.44 GiB for max tokens in paged KV cache (259840).",
    )


def test_bytes_of_an_earlier_log() -> None:
    """https://github.com/NVIDIA/TensorRT-LLM/issues/1400 (0.8): 69,524,783,104 bytes are 132,608 tokens."""
    cache = plan_of(MHA_7B, engine_version="0.12").ranks[0].cache
    assert cache.kv(132_608, 1) == 69_524_783_104


def test_window_layers_keep_all_tokens_in_11() -> None:
    """https://forums.developer.nvidia.com/t/354807 (1.1.0rc3, gpt-oss-20b): 4,128 tokens of all 24 layers, 0.19 GiB."""
    planned = with_blocks(GPT_OSS_20B, 4128 // 32, engine_version="1.1.0rc3")
    assert planned.log.lines[-1].endswith("Allocated 0.19 GiB for max tokens in paged KV cache (4128).")
    assert f"{24 * 2 * 8 * 64 * 2 * 4128 / GIB:.2f}" == "0.19"


def test_what_the_runtime_takes() -> None:
    """t006 again: 0.9 of what an H100 has beside weights, activations and the runtime, which is fitted to it."""
    spec = find_entry("Qwen/Qwen3-0.6B").spec
    planned = plan_with("h100-sxm5-80gb", spec)
    left = planned.ranks[0].available
    assert left is not None and abs(left - 68.69 * GIB) < 0.01 * GIB
    assert planned.grades.runtime == "calibrated"


def test_gpt_oss_120b_on_unified_memory() -> None:
    """t007, a public log of 1.1.0rc3 on a DGX Spark: 0.85 GiB while 8,192 tokens run, 63.52 GiB before, blocks exact.

    63.32 GiB are weights: experts are padded to 128 rows and columns (2,880 to 2,944).
    """
    spec = find_entry("openai/gpt-oss-120b").spec
    planned = plan_of(
        spec, engine_version="1.1.0rc3", max_num_seqs=64, available_kv_bytes=share(119.70 - 113.65 + 0.56)
    )
    low, high = (share(119.70 - 113.65 + 0.56 + off) // (32 * 73_728) for off in (-3 * HALF_DIGIT, 3 * HALF_DIGIT))
    assert low <= 86_720 // 32 <= high + 1
    assert planned.printed.kv_tokens is not None and abs(planned.printed.kv_tokens - 86_720) < 200
    rank = planned.ranks[0]
    assert abs(rank.activation - 0.85 * GIB) < ACTIVATION_ERROR * rank.activation
    assert abs(rank.weights - 63.32 * GIB) < 0.02 * GIB
    older = plan_of(spec, engine_version="1.0").ranks[0].weights
    experts = 36 * 128 * (2880 * 5760 + 2880 * 2880) * (4 + 8 / 32) / 8
    assert abs(rank.weights - older - experts * ((2944 / 2880) ** 2 - 1)) < 0.01 * GIB
    assert any("DGX Spark" in note for note in plan_with("dgx-spark-gb10", spec).notes)


def test_mla_with_an_fp8_cache() -> None:
    """A public log of January 2026 (H200, DeepSeek-R1): "kv size is 35136", 0.85 of 139.81 less 91.46 GiB is 41.11."""
    spec = find_entry("deepseek-ai/DeepSeek-V3").spec
    rank = plan_of(spec, tensor_parallel=8).ranks[0]
    total, peak = round(139.81 * GIB), round(91.46 * GIB)
    settings = {"kv_dtype": "fp8", "tensor_parallel": 8, "memory_fraction": 0.85, "engine_version": "1.1"}
    counted = rank.weights + rank.activation + rank.runtime
    planned = plan_of(spec, **settings, total_memory_bytes=total, other_memory_bytes=peak - counted)
    assert planned.log.lines[0] == (
        "Peak memory during memory usage profiling (torch + non-torch): 91.46 GiB, available KV cache memory when "
        "calculating max tokens: 41.10 GiB, fraction is set 0.85, kv size is 35136. device total memory 139.81 GiB"
    )  # 41.11 in the log: its terms are rounded
