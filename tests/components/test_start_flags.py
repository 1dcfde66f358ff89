"""Every flag of a start command is one that the engine's own source has, in the spelling of the release."""

import re
from typing import Any

import pytest

from components.start_command import start_command, start_notes
from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.answer import find_models
from sizing.engines import ENGINES
from sizing.engines.words import OPTIONS
from sizing.scenario import make_scenario
from sizing.size import plan

# The flags read in these files; others of the file are left out.
SOURCES = {
    # vllm/engine/arg_utils.py of 0.33.0; on and off of a switch are --x and --no-x (argparse.BooleanOptionalAction)
    "vllm": """--tensor-parallel-size --pipeline-parallel-size --data-parallel-size --decode-context-parallel-size
        --enable-expert-parallel --quantization --dtype --kv-cache-dtype --mamba-cache-dtype --mamba-ssm-cache-dtype
        --gpu-memory-utilization --max-model-len --max-num-seqs --max-num-batched-tokens --block-size --enforce-eager
        --enable-prefix-caching --no-enable-prefix-caching --disable-hybrid-kv-cache-manager
        --no-disable-hybrid-kv-cache-manager --cpu-offload-gb --limit-mm-per-prompt --language-model-only --runner
        --kv-cache-memory-bytes --speculative-config --enable-lora --max-loras --max-lora-rank""",
    # sglang/srt/server_args.py and arg_groups/fields/*.py of 0.5.23
    "sglang": """--model-path --tp-size --pp-size --dp-size --dcp-size --attn-dp-size --enable-dp-attention --ep-size
        --quantization --dtype --kv-cache-dtype --mamba-ssm-dtype --mem-fraction-static --context-length
        --max-running-requests --max-prefill-tokens --chunked-prefill-size --page-size --swa-full-tokens-ratio
        --mamba-full-memory-ratio --max-mamba-cache-size --disable-cuda-graph --disable-radix-cache
        --disable-hybrid-swa-memory --cpu-offload-gb --enable-lora --max-loras-per-batch --max-lora-rank
        --lora-target-modules --speculative-algorithm --speculative-draft-model-path --speculative-num-steps
        --speculative-eagle-topk --speculative-num-draft-tokens""",
    # llama.cpp common/arg.cpp of 2026
    "llama.cpp": """--model --ctx-size --parallel --cache-type-k --cache-type-v --batch-size --ubatch-size
        --n-gpu-layers --n-cpu-moe --split-mode --tensor-split --kv-offload --no-kv-offload --kv-unified --no-kv-unified
        --flash-attn --swa-full --mmproj --spec-type --spec-draft-n-max
        --model-draft""",
    # tensorrt_llm/commands/serve.py of 1.2
    "tensorrt-llm": """--tp_size --pp_size --ep_size --kv_cache_free_gpu_memory_fraction --max_seq_len --max_batch_size
        --max_num_tokens --extra_llm_api_options""",
}
FLAG = re.compile(r"(?<=\s)--[\w-]+")
LLAMA, MIXTURE, HYBRID = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-Next-80B-A3B-Instruct"
RELEASES = {"vllm": ("0.9.2", "0.22.0", "0.33.0"), "sglang": ("0.5.13", "0.5.21", "0.5.23")}
VALUES: dict[str, Any] = {
    "memory_fraction": 0.8,
    "swa_full_tokens_ratio": 0.5,
    "mamba_full_memory_ratio": 0.5,
    "split_mode": "layer",
    "tensor_split": [1.0],
    "memory_by_gpu": [2**34],
    "media_limits": {"image": 1},
    "pooling": False,
    "gpu_layers": 20,
    "cpu_offload_bytes": 2**30,
    "cpu_moe_layers": 4,
}
SWITCHES = {
    "enforce_eager",
    "prefix_caching",
    "hybrid_kv_cache_manager",
    "kv_unified",
    "flash_attention",
    "swa_full",
    "kv_offload",
}
MORE: tuple[dict[str, Any], ...] = (
    {"model": MIXTURE, "tensor_parallel": 4, "expert_parallel": True},
    {"tensor_parallel": 2, "pipeline_parallel": 2},
    {"model": MIXTURE, "tensor_parallel": 4, "data_parallel": 4, "dp_attention": True},
    {"lora": {"max_loras": 4, "rank": 16}},
    {"speculative": {"method": "eagle3", "tokens": 3}},
    {"speculative": {"method": "ngram", "tokens": 4}},
    {"weights": "fp8"},
    {"weights": "fp16"},
    {"kv_dtype": "fp8"},
    {"kv_dtype": "nvfp4"},
    {"model": HYBRID, "tensor_parallel": 4, "state_dtype": {"conv": "bf16", "recurrent": "bf16"}},
    {"tensor_parallel": 8, "model": "deepseek-ai/DeepSeek-V3", "decode_context_parallel": 2},
    {"context_length": 200_000},
    {"data_parallel": 2},
    {"kv_dtype": "q8_0", "weights": "q8_0"},
    {"available_kv_bytes": 2**33},
    {"media_limits": {"image": 0, "video": 0, "audio": 0}},
    {"speculative": {"method": "eagle3", "tokens": 3, "model": "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3"}},
    {"model": "Qwen/Qwen3.6-27B", "speculative": {"method": "mtp", "tokens": 2}},
)


def command(engine: str, **values: Any) -> str | None:
    """None where the engine refuses the combination."""
    usual = {"model": LLAMA, "engine": engine, "accelerator": "h200-sxm-141gb", "context_length": 4096}
    try:
        asked = make_scenario(usual | values)
        planned = plan(asked, find_models(asked), get_accelerator("h200-sxm-141gb"))
    except ValueError:
        return None
    return start_command(asked, planned)


def commands(engine: str) -> list[str]:
    single = [
        {field: value} | ({"model": MIXTURE} if field == "cpu_moe_layers" else {})
        for field in OPTIONS[engine]
        for value in ((True, False) if field in SWITCHES else (VALUES.get(field, 64),))
    ]
    found = [
        command(engine, engine_version=release, **values)
        for values in ({}, *single, *MORE)
        for release in RELEASES.get(engine, (None,))
    ]
    return [text for text in found if text]


@pytest.mark.parametrize("engine", SOURCES)
def test_flags_are_the_engines_own(engine: str) -> None:
    known = set(SOURCES[engine].split())
    texts = commands(engine)
    assert len(texts) > 10
    used = {flag for text in texts for flag in FLAG.findall(text)}
    assert used == known


@pytest.mark.parametrize("engine", SOURCES)
def test_options_name_known_flags(engine: str) -> None:
    flags = {words.split()[0] for option in OPTIONS[engine].values() for words in (option.flag, option.off) if words}
    assert flags <= set(SOURCES[engine].split())


@pytest.mark.parametrize(
    ("engine", "version", "values", "part"),
    [
        ("vllm", "0.33.0", {"weights": "fp8"}, "--quantization fp8_per_channel"),
        ("vllm", "0.22.0", {"weights": "fp8"}, "--quantization fp8_per_tensor"),
        ("vllm", "0.12.0", {"weights": "fp8"}, "--quantization fp8"),
        ("vllm", "0.27.0", {"weights": "bnb-nf4"}, "--quantization bitsandbytes"),
        ("sglang", "0.5.23", {"kv_dtype": "fp8"}, "--kv-cache-dtype fp8_e4m3"),
        ("sglang", "0.5.23", {"kv_dtype": "fp4_e2m1"}, "--kv-cache-dtype fp4_mx_block16"),
        ("sglang", "0.5.15", {"kv_dtype": "fp4_e2m1"}, "--kv-cache-dtype fp4_e2m1"),
        (
            "sglang",
            "0.5.21",
            {"model": MIXTURE, "tensor_parallel": 4, "data_parallel": 4, "dp_attention": True},
            "--dp-size 4 --enable-dp-attention",
        ),
        (
            "sglang",
            "0.5.22",
            {"model": MIXTURE, "tensor_parallel": 4, "data_parallel": 4, "dp_attention": True},
            "--attn-dp-size 4",
        ),
        (
            "sglang",
            "0.5.23",
            {"model": "deepseek-ai/DeepSeek-V3", "tensor_parallel": 8, "speculative": {"method": "mtp", "tokens": 1}},
            "--speculative-algorithm NEXTN --speculative-num-steps 1 --speculative-eagle-topk 1 "
            "--speculative-num-draft-tokens 2",
        ),
        ("sglang", "0.5.23", {"lora": {"max_loras": 2, "rank": 8}, "model": MIXTURE}, "k_proj o_proj q_proj v_proj"),
    ],
)
def test_spelling_by_release(engine: str, version: str, values: dict[str, Any], part: str) -> None:
    text = command(engine, engine_version=version, **values)
    assert text is not None
    assert part in text.replace(" \\\n    ", " ")


def test_bitsandbytes_is_gone() -> None:
    """vLLM 0.28 has no such quantization; the checkpoint has to be had in another format."""
    text = command("vllm", engine_version="0.28.0", weights="bnb-nf4")
    assert text is not None
    assert "quantization" not in text


@pytest.mark.parametrize(
    ("weights", "last", "first"), [("bnb-nf4", "0.27.0", "0.28.0"), ("q4_k_m", "0.23.0", "0.24.0")]
)
def test_formats_without_a_loader_are_told(weights: str, last: str, first: str) -> None:
    """The last release with the loader, and the first without it."""
    spec, card = find_entry(LLAMA).spec, get_accelerator("h200-sxm-141gb")
    notes = []
    for release in (last, first):
        asked = make_scenario({"model": LLAMA, "engine": "vllm", "engine_version": release, "weights": weights})
        notes.append(" ".join(start_notes(asked, plan(asked, spec, card))))
    assert "checkpoints from" not in notes[0]
    assert f"checkpoints from {first} on" in notes[1]


def test_options_of_tensorrt_llms_file() -> None:
    """The file's kv_cache_config replaces that of the flags, so that the fraction goes there."""
    text = command("tensorrt-llm", kv_dtype="fp8", memory_fraction=0.8, speculative={"method": "ngram", "tokens": 4})
    assert text is not None
    assert "  free_gpu_memory_fraction: 0.8\n" in text
    assert "--kv_cache_free" not in text
    assert "speculative_config:\n  decoding_type: NGram\n  max_draft_len: 4" in text
    windows = command("tensorrt-llm", model="google/gemma-3-27b-it", hybrid_kv_cache_manager=True, max_model_len=8192)
    assert windows is not None
    assert "max_attention_window: [1024, 1024, 1024, 1024, 1024, 8192," in windows


@pytest.mark.parametrize("engine", SOURCES)
def test_every_engine_is_asked(engine: str) -> None:
    assert SOURCES.keys() == {name for name in ENGINES if OPTIONS[name].get("max_num_seqs")}
