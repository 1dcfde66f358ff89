"""The command that starts an engine: the flags of its own documentation, and none that say the default."""

from typing import Any

import pytest

from components.start_command import start_command, start_notes
from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines.plan import EnginePlan
from sizing.scenario import Scenario, make_scenario
from sizing.size import plan

LLAMA, DEEPSEEK = "meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-V3"


def both(**values: Any) -> tuple[Scenario, EnginePlan]:
    usual = {"model": LLAMA, "engine": "vllm", "accelerator": "h100-sxm5-80gb", "context_length": 8192, "batch_size": 4}
    asked = make_scenario(usual | values)
    return asked, plan(asked, find_entry(asked.model).spec, get_accelerator(asked.accelerator or ""))


def started(**values: Any) -> str:
    """On one line."""
    command = start_command(*both(**values))
    assert command is not None
    return command.replace(" \\\n    ", " ")


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ({}, f"vllm serve {LLAMA}"),
        (
            {"tensor_parallel": 2, "kv_dtype": "fp8", "memory_fraction": 0.95, "prefix_caching": False},
            f"vllm serve {LLAMA} --tensor-parallel-size 2 --kv-cache-dtype fp8 --gpu-memory-utilization 0.95 "
            "--no-enable-prefix-caching",
        ),
        (
            {"weights": "fp8", "enforce_eager": True, "max_num_seqs": 64, "cpu_offload_bytes": 4 * 2**30},
            f"vllm serve {LLAMA} --quantization fp8_per_channel --max-num-seqs 64 --enforce-eager --cpu-offload-gb 4",
        ),
        (
            {"media_limits": {"image": 0, "video": 0}, "pooling": True},
            f"vllm serve {LLAMA} --runner pooling --limit-mm-per-prompt '" + '{"image": 0, "video": 0}' + "'",
        ),
        ({"media_limits": {"image": 0, "video": 0, "audio": 0}}, f"vllm serve {LLAMA} --language-model-only"),
        (
            {"lora": {"max_loras": 2, "rank": 16}, "weights": "fp16", "hybrid_kv_cache_manager": False},
            f"vllm serve {LLAMA} --dtype float16 --disable-hybrid-kv-cache-manager --enable-lora --max-loras 2 "
            "--max-lora-rank 16",
        ),
        (
            {"engine": "sglang", "tensor_parallel": 2, "data_parallel": 2, "dp_attention": True, "max_num_seqs": 64},
            f"python -m sglang.launch_server --model-path {LLAMA} --tp-size 2 --attn-dp-size 2 "
            "--max-running-requests 64",
        ),
        (
            {"engine": "sglang", "kv_dtype": "fp8_e4m3", "prefix_caching": False, "chunked_prefill_size": 4096},
            f"python -m sglang.launch_server --model-path {LLAMA} --kv-cache-dtype fp8_e4m3 "
            "--chunked-prefill-size 4096 --disable-radix-cache",
        ),
        (
            {"engine": "llama.cpp", "weights": "q4_k_m", "kv_dtype": "q8_0", "gpu_layers": 20, "flash_attention": True},
            "llama-server --model Llama-3.1-8B-Instruct-Q4_K_M.gguf --ctx-size 32768 --parallel 4 --cache-type-k q8_0 "
            "--cache-type-v q8_0 --n-gpu-layers 20 --flash-attn on",
        ),
        (
            {
                "engine": "llama.cpp",
                "weights": "q8_0",
                "tensor_parallel": 2,
                "tensor_split": "3,1.5",
                "kv_offload": False,
            },
            "llama-server --model Llama-3.1-8B-Instruct-Q8_0.gguf --ctx-size 32768 --parallel 4 --tensor-split 3,1.5 "
            "--no-kv-offload",
        ),
        (
            {"engine": "tensorrt-llm", "tensor_parallel": 2, "max_num_seqs": 64, "memory_fraction": 0.8},
            f"trtllm-serve {LLAMA} --tp_size 2 --kv_cache_free_gpu_memory_fraction 0.8 --max_batch_size 64",
        ),
    ],
)
def test_commands(values: dict[str, Any], command: str) -> None:
    assert started(**values) == command


@pytest.mark.parametrize(
    ("model", "file"),
    [(LLAMA, "Llama-3.1-8B-Instruct-BF16.gguf"), ("openai/gpt-oss-20b", "gpt-oss-20b.gguf")],
)
def test_a_file_is_named_by_its_type(model: str, file: str) -> None:
    assert started(model=model, engine="llama.cpp").split()[2] == file


def test_an_offloaded_size_is_written_to_the_byte() -> None:
    """vLLM reads --cpu-offload-gb as a number with a point and takes it times 2**30."""
    text = started(cpu_offload_bytes=10 * 2**30 + 1)
    assert float(text.rpartition("--cpu-offload-gb ")[2]) * 2**30 == 10 * 2**30 + 1
    assert started(cpu_offload_bytes=2**50).endswith("--cpu-offload-gb 1048576")


def test_settings_without_a_flag_go_into_a_file() -> None:
    text = start_command(*both(engine="tensorrt-llm", kv_dtype="fp8", prefix_caching=False, block_size=64))
    assert text is not None
    assert text.startswith(
        "cat > options.yaml <<'END'\nkv_cache_config:\n  dtype: fp8\n  tokens_per_block: 64\n"
        "  enable_block_reuse: false\nEND\ntrtllm-serve"
    )
    assert text.endswith("--extra_llm_api_options options.yaml")


def test_a_length_that_does_not_start_is_lowered_to_the_requests() -> None:
    """vLLM refuses 131,072 tokens on 24 GB."""
    values = {"accelerator": "rtx-4090", "batch_size": 1}
    assert "--max-model-len 8192" in started(**values)
    assert "131,072 this does not start" in start_notes(*both(**values))[0]


def test_a_request_longer_than_the_models_own_limit_is_said() -> None:
    assert "--max-model-len 200000" in started(context_length=200_000, batch_size=1)


def test_a_checkpoint_that_has_to_be_had_is_named() -> None:
    assert start_notes(*both(weights="awq-int4")) == [f"Put a checkpoint in INT4 AWQ in the place of {LLAMA}."]
    assert start_notes(*both(weights="fp8")) == []


def test_names_are_quoted_for_the_shell() -> None:
    asked, planned = both()
    hostile = asked.model_copy(update={"model": "x; rm -rf ~"})
    assert start_command(hostile, planned) == "vllm serve 'x; rm -rf ~'"


@pytest.mark.parametrize("engine", ["minimum", "transformers"])
def test_what_is_no_server_has_no_command(engine: str) -> None:
    assert start_command(*both(engine=engine)) is None
