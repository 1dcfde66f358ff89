"""GGUF metadata gives the layers that the same model's config.json gives, and the KV that was published for it."""

from pathlib import Path
from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.files import read_file
from model_catalog.gguf.architectures import ARCHITECTURES
from model_catalog.gguf.facts import KV_HEADS
from model_catalog.importers import read_config
from model_catalog.lookup import find_entry
from model_catalog.spec import Attention, LatentAttention, Layer, ModelSpec, Recurrent
from sizing.answer import answer
from tests.model_catalog.gguf_files import F16, F32, TENSOR, write

LLAMA_8B: dict[str, Any] = {
    "block_count": 32,
    "context_length": 131072,
    "embedding_length": 4096,
    "feed_forward_length": 14336,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "rope.dimension_count": 128,
    "rope.freq_base": 500000.0,
    "vocab_size": 128256,
}
GEMMA3_12B: dict[str, Any] = {
    "block_count": 48,
    "context_length": 131072,
    "embedding_length": 3840,
    "feed_forward_length": 15360,
    "attention.head_count": 16,
    "attention.head_count_kv": 8,
    "attention.key_length": 256,
    "attention.value_length": 256,
    "attention.sliding_window": 1024,
    "vocab_size": 262208,
}
DEEPSEEK_V3: dict[str, Any] = {
    "block_count": 61,
    "context_length": 163840,
    "embedding_length": 7168,
    "feed_forward_length": 18432,
    "attention.head_count": 128,
    "attention.head_count_kv": 1,
    "attention.q_lora_rank": 1536,
    "attention.kv_lora_rank": 512,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "rope.dimension_count": 64,
    "leading_dense_block_count": 3,
    "expert_count": 256,
    "expert_used_count": 8,
    "expert_shared_count": 1,
    "expert_feed_forward_length": 2048,
    "vocab_size": 129280,
}
# Files made before llama.cpp #12801 (March 2025) hold no *_mla and as many KV heads as heads.
DEEPSEEK_V3_OLD = {
    **{key: value for key, value in DEEPSEEK_V3.items() if not key.endswith("_mla")},
    "attention.key_length": 192,
    "attention.value_length": 128,
    "attention.head_count_kv": 128,
}
QWEN3_NEXT: dict[str, Any] = {
    "block_count": 48,
    "context_length": 262144,
    "embedding_length": 2048,
    "feed_forward_length": 5120,
    "attention.head_count": 16,
    "attention.head_count_kv": 2,
    "attention.key_length": 256,
    "attention.value_length": 256,
    "rope.dimension_count": 64,
    "full_attention_interval": 4,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 128,
    "ssm.group_count": 16,
    "ssm.time_step_rank": 32,
    "ssm.inner_size": 4096,
    "expert_count": 512,
    "expert_used_count": 10,
    "expert_feed_forward_length": 512,
    "expert_shared_feed_forward_length": 512,
    "vocab_size": 151936,
}
LFM2_1B: dict[str, Any] = {
    "block_count": 16,
    "context_length": 128000,
    "embedding_length": 2048,
    "feed_forward_length": 8192,
    "attention.head_count": 32,
    "attention.head_count_kv": [0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0],
    "shortconv.l_cache": 3,
    "vocab_size": 65536,
}


def mixers(spec: ModelSpec) -> list[Any]:
    return [layer.mixers for layer in spec.each_layer()]


def parts(spec: ModelSpec) -> list[Any]:
    return [layer.feed_forward for layer in spec.each_layer()]


@pytest.mark.parametrize(
    ("arch", "metadata", "model"),
    [
        ("llama", LLAMA_8B, "meta-llama/Llama-3.1-8B-Instruct"),
        ("gemma3", GEMMA3_12B, "google/gemma-3-12b-it"),
        ("deepseek2", DEEPSEEK_V3, "deepseek-ai/DeepSeek-V3"),
        ("deepseek2", DEEPSEEK_V3_OLD, "deepseek-ai/DeepSeek-V3"),
        ("qwen3next", QWEN3_NEXT, "Qwen/Qwen3-Next-80B-A3B-Instruct"),
        ("lfm2", LFM2_1B, "LiquidAI/LFM2-1.2B"),
    ],
)
def test_layers_are_those_of_the_config(tmp_path: Path, arch: str, metadata: dict[str, Any], model: str) -> None:
    spec, entry = read_file(write(tmp_path / "m.gguf", arch, metadata)), find_entry(model).spec
    assert mixers(spec) == mixers(entry)
    assert parts(spec) == parts(entry)
    assert (spec.max_context, spec.vocab_size) == (entry.max_context, entry.vocab_size)
    assert not any(doubt.touches_kv for doubt in spec.doubts)


@pytest.mark.parametrize(
    ("arch", "metadata", "token"),
    [
        ("llama", LLAMA_8B, 131_072),  # 2 × 32 layers × 8 heads × 128 × 2 B
        ("deepseek2", DEEPSEEK_V3, 70_272),  # DeepSeek-V3 report: 70.272 KB a token
        ("qwen3next", QWEN3_NEXT, 24_576),  # 12 layers × 2 × 2 heads × 256 × 2 B
        ("lfm2", LFM2_1B, 12_288),  # 6 layers × 2 × 8 heads × 64 × 2 B
    ],
)
def test_published_bytes_a_token(tmp_path: Path, arch: str, metadata: dict[str, Any], token: int) -> None:
    path = write(tmp_path / "m.gguf", arch, metadata)
    report = answer({"model": str(path), "engine": "minimum", "weights": "bf16", "context_length": 65536})
    assert report["cache"]["bytes_per_token"] == token
    assert report["grades"]["kv"] == "exact"


def test_gemma3_keeps_1024_tokens_in_five_of_six_layers(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "gemma3", GEMMA3_12B)
    report = answer({"model": str(path), "engine": "minimum", "weights": "bf16", "context_length": 32768})
    each = 2 * 8 * 256 * 2
    assert report["cache"]["logical_bytes"] == each * (8 * 32768 + 40 * 1024)


def test_a_listed_pattern_wins_over_the_usual_one(tmp_path: Path) -> None:
    windowed = [index % 2 == 0 for index in range(48)]
    path = write(tmp_path / "m.gguf", "gemma3", {**GEMMA3_12B, "attention.sliding_window_pattern": windowed})
    assert [bool(mixer.window) for (mixer,) in mixers(read_file(path))] == windowed


def test_a_pattern_may_be_a_period(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "gemma3", {**GEMMA3_12B, "attention.sliding_window_pattern": 4})
    assert [mixer.window for (mixer,) in mixers(read_file(path))][:4] == [1024, 1024, 1024, None]


def test_prediction_layers_come_after_the_decoder(tmp_path: Path) -> None:
    metadata = {**DEEPSEEK_V3, "block_count": 62, "nextn_predict_layers": 1}
    assert read_file(write(tmp_path / "m.gguf", "deepseek2", metadata)).num_layers == 61


def test_mixtral_goes_by_the_name_of_llama(tmp_path: Path) -> None:
    """mistralai/Mixtral-8x7B-v0.1, whose converter writes no window."""
    metadata = {**LLAMA_8B, "expert_count": 8, "expert_used_count": 2, "vocab_size": 32000}
    spec = read_file(write(tmp_path / "m.gguf", "llama", metadata))
    entry = find_entry("mistralai/Mixtral-8x7B-v0.1").spec
    assert (mixers(spec), parts(spec), spec.model_type) == (mixers(entry), parts(entry), "mixtral")


def test_gemma4_full_layers_have_heads_of_their_own(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "model_type": "gemma4_text",
        "num_hidden_layers": 6,
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "num_global_key_value_heads": 2,
        "attention_k_eq_v": True,
        "head_dim": 32,
        "global_head_dim": 64,
        "sliding_window": 512,
        "vocab_size": 1024,
        "hidden_size_per_layer_input": 0,
        "num_kv_shared_layers": 0,
    }
    metadata = {
        "block_count": 6,
        "context_length": 131072,
        "embedding_length": 256,
        "feed_forward_length": 512,
        "attention.head_count": 8,
        "attention.head_count_kv": [4, 4, 4, 4, 4, 2],
        "attention.key_length": 64,
        "attention.key_length_swa": 32,
        "attention.sliding_window": 512,
        "attention.sliding_window_pattern": [True] * 5 + [False],
        "attention.shared_kv_layers": 0,
        "vocab_size": 1024,
    }
    assert mixers(read_file(write(tmp_path / "m.gguf", "gemma4", metadata))) == mixers(read_config(config))


def test_nemotron_h_layers_are_one_thing_each(tmp_path: Path) -> None:
    metadata = {
        **LLAMA_8B,
        "block_count": 4,
        "attention.head_count_kv": [0, 0, 8, 0],
        "attention.key_length": 128,
        "feed_forward_length": [0, 14336, 0, 0],
        "ssm.conv_kernel": 4,
        "ssm.state_size": 128,
        "ssm.group_count": 8,
        "ssm.inner_size": 8192,
        "ssm.time_step_rank": 128,
    }
    spec = read_file(write(tmp_path / "m.gguf", "nemotron_h", metadata))
    kinds = [type(layer.mixers[0]) if layer.mixers else layer.feed_forward for layer in spec.each_layer()]
    assert [kinds[0], kinds[2], kinds[3]] == [Recurrent, Attention, Recurrent]
    assert getattr(kinds[1], "intermediate", None) == 14336


def test_an_unknown_architecture_is_doubted(tmp_path: Path) -> None:
    spec = read_file(write(tmp_path / "m.gguf", "marvel9", LLAMA_8B))
    assert spec.num_layers == 32
    assert any('"marvel9 (GGUF)" is not a model type' in doubt.message for doubt in spec.doubts if doubt.touches_kv)


def test_kv_heads_that_differ_where_none_should_are_doubted(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "llama", {**LLAMA_8B, "attention.head_count_kv": [8] * 31 + [4]})
    assert any("head_count_kv" in doubt.config_field for doubt in read_file(path).doubts if doubt.touches_kv)


def attention_tensors(layers: int, kv_rows: int) -> list[TENSOR]:
    return [
        tensor
        for index in range(layers)
        for tensor in (
            (f"blk.{index}.attn_norm.weight", (4096,), F32),
            (f"blk.{index}.attn_q.weight", (4096, 4096), F16),
            (f"blk.{index}.attn_k.weight", (kv_rows, 4096), F16),
            (f"blk.{index}.attn_v.weight", (kv_rows, 4096), F16),
        )
    ]


@pytest.mark.parametrize(("rows", "doubted"), [(1024, False), (512, True)])
def test_tensors_are_checked_against_the_metadata(tmp_path: Path, rows: int, doubted: bool) -> None:
    metadata = {**LLAMA_8B, "block_count": 2}
    spec = read_file(write(tmp_path / "m.gguf", "llama", metadata, attention_tensors(2, rows)))
    sentences = [doubt.message for doubt in spec.doubts if doubt.touches_kv]
    expected = ["blk.0.attn_k.weight has 512 rows where the metadata amount to 1,024."] if doubted else []
    assert sentences == expected


def test_a_layer_without_tensors_is_doubted(tmp_path: Path) -> None:
    metadata = {**LLAMA_8B, "block_count": 3}
    spec = read_file(write(tmp_path / "m.gguf", "llama", metadata, attention_tensors(2, 1024)))
    assert [doubt.message for doubt in spec.doubts] == [
        "blk.2.attn_k.weight has 0 rows where the metadata amount to 1,024."
    ]


def test_the_latent_is_checked_too(tmp_path: Path) -> None:
    tensors: list[TENSOR] = [(f"blk.{index}.attn_kv_a_mqa.weight", (576, 7168), F16) for index in range(61)]
    spec = read_file(write(tmp_path / "m.gguf", "deepseek2", DEEPSEEK_V3, tensors))
    assert not any(doubt.touches_kv for doubt in spec.doubts)
    assert all(isinstance(layer.mixers[0], LatentAttention) for layer in spec.each_layer())


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({key: value for key, value in LLAMA_8B.items() if key != "block_count"}, "llama.block_count"),
        ({**LLAMA_8B, "block_count": 5000}, "llama.block_count"),
        ({**LLAMA_8B, "embedding_length": 0}, "llama.embedding_length"),
        ({**LLAMA_8B, "attention.head_count_kv": [8, 8]}, "llama.attention.head_count_kv"),
        ({**LLAMA_8B, "attention.head_count": "many"}, "llama.attention.head_count"),
        ({**LLAMA_8B, "nextn_predict_layers": 32}, "llama.nextn_predict_layers"),
    ],
)
def test_the_key_at_fault_is_named(tmp_path: Path, metadata: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_file(write(tmp_path / "m.gguf", "llama", metadata))
    assert caught.value.field == field


def test_projectors_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="projector"):
        read_file(write(tmp_path / "m.gguf", "clip", {"general.type": "mmproj"}))


def test_layers_with_tensors_of_their_own_stay_apart(tmp_path: Path) -> None:
    tensors = [*attention_tensors(2, 1024), ("blk.1.attn_q.bias", (4096,), F32)]
    spec = read_file(write(tmp_path / "m.gguf", "llama", {**LLAMA_8B, "block_count": 2}, tensors))
    layers: list[Layer] = list(spec.each_layer())
    assert [len(layer.tensors) for layer in layers] == [4, 5]


def test_deepseek_v4_compresses_by_ratio(tmp_path: Path) -> None:
    """deepseek-ai/DeepSeek-V4-Flash, whose list has an entry for the prediction layer as well."""
    metadata = {
        **LLAMA_8B,
        "block_count": 43,
        "context_length": 1048576,
        "attention.head_count": 64,
        "attention.head_count_kv": 1,
        "attention.key_length": 512,
        "attention.q_lora_rank": 1024,
        "attention.sliding_window": 128,
        "attention.compress_ratios": [0, 0] + [4, 128] * 20 + [4, 0],
        "attention.output_group_count": 8,
        "attention.output_lora_rank": 1024,
        "attention.indexer.head_count": 64,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 512,
        "rope.dimension_count": 64,
        "hyper_connection.count": 4,
        "expert_count": 256,
        "expert_used_count": 6,
        "expert_shared_count": 1,
        "expert_feed_forward_length": 2048,
    }
    spec = read_file(write(tmp_path / "m.gguf", "deepseek4", metadata))
    assert mixers(spec) == mixers(find_entry("deepseek-ai/DeepSeek-V4-Flash").spec)


EVERYTHING: dict[str, Any] = {
    **DEEPSEEK_V3,
    "block_count": 8,
    "embedding_length": 4096,
    "attention.head_count": 32,
    "attention.head_count_kv": [0, 0, 0, 8] * 2,
    "attention.key_length": 128,
    "attention.sliding_window": 1024,
    "attention.indexer.head_count": 64,
    "attention.indexer.key_length": 128,
    "attention.indexer.top_k": 2048,
    "attention.compress_ratios": [0, 4] * 4,
    "attention.output_group_count": 8,
    "attention.output_lora_rank": 1024,
    "feed_forward_length": 14336,
    "full_attention_interval": 4,
    "hyper_connection.count": 4,
    "kda.head_dim": 128,
    "shortconv.l_cache": 3,
    "ssm.conv_kernel": 4,
    "ssm.group_count": 8,
    "ssm.inner_size": 8192,
    "ssm.state_size": 128,
    "ssm.time_step_rank": 128,
}
HEADS_ALIKE = {arch for arch, row in ARCHITECTURES.items() if KV_HEADS not in row.own}


@pytest.mark.parametrize("arch", sorted(ARCHITECTURES))
def test_every_field_that_is_written_is_read(tmp_path: Path, arch: str) -> None:
    """No architecture's config holds a field of another type's, which the importer would name."""
    metadata = {**EVERYTHING, "attention.head_count_kv": 32} if arch in HEADS_ALIKE else EVERYTHING
    spec = read_file(write(tmp_path / "m.gguf", arch, metadata))
    assert spec.num_layers == 8
    assert [doubt.message for doubt in spec.doubts if "is not" in doubt.message] == []
