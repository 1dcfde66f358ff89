"""The tensors of a GGUF file: every byte of it is in the spec, under the class and the sharding that it has."""

from collections import Counter
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest
from gguf import GGML_QUANT_SIZES, TENSOR_NAMES, GGMLQuantizationType

from model_catalog.fields import ConfigError
from model_catalog.files import read_file
from model_catalog.gguf.tensor_names import IN_LAYERS, OUTSIDE
from model_catalog.gguf.types import TYPES
from model_catalog.spec import ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass
from tests.model_catalog.gguf_files import F16, F32, TENSOR, stored, write
from tests.model_catalog.test_gguf_metadata import DEEPSEEK_V3, LLAMA_8B, QWEN3_NEXT

Q4_K, Q5_K, Q6_K = GGMLQuantizationType.Q4_K, GGMLQuantizationType.Q5_K, GGMLQuantizationType.Q6_K
Q8_0, IQ2_XXS, MXFP4 = GGMLQuantizationType.Q8_0, GGMLQuantizationType.IQ2_XXS, GGMLQuantizationType.MXFP4
SIZES = {TYPES[int(kind)]: size for kind, size in GGML_QUANT_SIZES.items()}
SMALL = {**LLAMA_8B, "block_count": 2}
ENDS: list[TENSOR] = [
    ("token_embd.weight", (128256, 4096), Q4_K),
    ("output.weight", (128256, 4096), Q6_K),
    ("output_norm.weight", (4096,), F32),
    ("rope_freqs.weight", (64,), F32),
]


def llama_layer(index: int, value: GGMLQuantizationType, down: GGMLQuantizationType) -> list[TENSOR]:
    return [
        (f"blk.{index}.attn_norm.weight", (4096,), F32),
        (f"blk.{index}.attn_q.weight", (4096, 4096), Q4_K),
        (f"blk.{index}.attn_k.weight", (1024, 4096), Q4_K),
        (f"blk.{index}.attn_v.weight", (1024, 4096), value),
        (f"blk.{index}.attn_output.weight", (4096, 4096), Q4_K),
        (f"blk.{index}.ffn_norm.weight", (4096,), F32),
        (f"blk.{index}.ffn_gate.weight", (14336, 4096), Q4_K),
        (f"blk.{index}.ffn_up.weight", (14336, 4096), Q4_K),
        (f"blk.{index}.ffn_down.weight", (4096, 14336), down),
    ]


def every(spec: ModelSpec) -> Iterator[Tensor]:
    yield from (tensor for layer in spec.each_layer() for tensor in layer.tensors)
    yield from spec.tensors
    yield from (tensor for tower in spec.towers for tensor in tower.tensors)


def bytes_by_class(spec: ModelSpec) -> Counter[TensorClass]:
    """By the gguf package's own table of sizes."""
    total: Counter[TensorClass] = Counter()
    for tensor in every(spec):
        block, size = SIZES[str(tensor.dtype)]
        assert tensor.shape[-1] % block == 0
        total[tensor.kind] += prod(tensor.shape) // block * size * tensor.count
    return total


def only(spec: ModelSpec, name: str) -> Tensor:
    (found,) = [tensor for tensor in every(spec) if tensor.name == name]
    return found


def test_a_mixed_file_to_the_byte(tmp_path: Path) -> None:
    tensors = [*ENDS, *llama_layer(0, Q6_K, Q6_K), *llama_layer(1, Q4_K, Q5_K)]
    spec = read_file(write(tmp_path / "m.gguf", "llama", SMALL, tensors))
    total = bytes_by_class(spec)
    assert total.total() == stored(tensors)
    assert total[TensorClass.EMBEDDING] == 128256 * 4096 // 256 * 144
    assert total[TensorClass.LM_HEAD] == 128256 * 4096 // 256 * 210
    assert total[TensorClass.NORM] == 5 * 4096 * 4
    assert spec.quantization is not None and spec.quantization.method == "gguf"
    assert not spec.tied_embeddings


def test_without_an_output_tensor_the_embedding_is_tied(tmp_path: Path) -> None:
    tensors = [*ENDS[:1], *llama_layer(0, Q4_K, Q4_K), *llama_layer(1, Q4_K, Q4_K)]
    assert read_file(write(tmp_path / "m.gguf", "llama", SMALL, tensors)).tied_embeddings


def test_attention_is_shared_out_by_heads(tmp_path: Path) -> None:
    spec = read_file(write(tmp_path / "m.gguf", "llama", {**SMALL, "block_count": 1}, llama_layer(0, Q6_K, Q6_K)))
    query, key = only(spec, "self_attn.q_proj.weight"), only(spec, "self_attn.k_proj.weight")
    out, down = only(spec, "self_attn.o_proj.weight"), only(spec, "mlp.down_proj.weight")
    assert [(t.shard, t.units) for t in (query, key, out, down)] == [
        (Shard.COLUMN, 32),
        (Shard.COLUMN, 8),
        (Shard.ROW, 32),
        (Shard.ROW, 0),
    ]


def test_a_joined_projection_is_three(tmp_path: Path) -> None:
    """Phi-3 mini: 32 heads of 96, all with keys of their own."""
    metadata = {
        **LLAMA_8B,
        "block_count": 1,
        "embedding_length": 3072,
        "attention.head_count_kv": 32,
        "attention.sliding_window": 2047,
        "rope.dimension_count": 96,
    }
    tensors: list[TENSOR] = [("blk.0.attn_qkv.weight", (9216, 3072), Q5_K)]
    spec = read_file(write(tmp_path / "m.gguf", "phi3", metadata, tensors))
    assert [t.shape for t in every(spec)] == [(3072, 3072)] * 3
    assert bytes_by_class(spec).total() == stored(tensors)
    assert not any(doubt.touches_kv for doubt in spec.doubts)


def test_experts_are_counted_one_by_one(tmp_path: Path) -> None:
    metadata = {**LLAMA_8B, "block_count": 1, "expert_count": 8, "expert_used_count": 2}
    tensors: list[TENSOR] = [
        ("blk.0.ffn_gate_inp.weight", (8, 4096), F32),
        ("blk.0.ffn_gate_exps.weight", (8, 14336, 4096), MXFP4),
        ("blk.0.ffn_gate_exps.bias", (8, 14336), F32),
    ]
    spec = read_file(write(tmp_path / "m.gguf", "llama", metadata, tensors))
    gate = only(spec, "mlp.experts.gate_proj.weight")
    assert (gate.kind, gate.shard, gate.count, gate.shape) == (TensorClass.EXPERT, Shard.EXPERT, 8, (14336, 4096))
    assert bytes_by_class(spec)[TensorClass.EXPERT] == 8 * 14336 * 4096 // 32 * 17
    assert bytes_by_class(spec).total() == stored(tensors)


def test_files_with_a_tensor_for_each_expert(tmp_path: Path) -> None:
    metadata = {**LLAMA_8B, "block_count": 1, "expert_count": 2, "expert_used_count": 2}
    tensors: list[TENSOR] = [(f"blk.0.ffn_up.{number}.weight", (14336, 4096), Q4_K) for number in range(2)]
    spec = read_file(write(tmp_path / "m.gguf", "llama", metadata, tensors))
    assert bytes_by_class(spec) == Counter({TensorClass.EXPERT: stored(tensors)})


def test_keys_and_values_of_the_latent_are_apart(tmp_path: Path) -> None:
    tensors: list[TENSOR] = [
        ("blk.0.attn_kv_a_mqa.weight", (576, 7168), Q8_0),
        ("blk.0.attn_k_b.weight", (128, 512, 128), Q8_0),
        ("blk.0.attn_v_b.weight", (128, 128, 512), Q8_0),
    ]
    spec = read_file(write(tmp_path / "m.gguf", "deepseek2", {**DEEPSEEK_V3, "block_count": 1}, tensors))
    keys = only(spec, "self_attn.k_b_proj.weight")
    assert (keys.shape, keys.shard, keys.units) == ((128 * 512, 128), Shard.COLUMN, 128)
    assert bytes_by_class(spec).total() == stored(tensors)
    assert not any(doubt.touches_kv for doubt in spec.doubts)


def test_layers_after_the_decoder_are_prediction_layers(tmp_path: Path) -> None:
    tensors: list[TENSOR] = [
        ("blk.0.attn_kv_a_mqa.weight", (576, 7168), Q8_0),
        ("blk.1.attn_kv_a_mqa.weight", (576, 7168), Q8_0),
        ("blk.1.nextn.eh_proj.weight", (7168, 14336), Q8_0),
    ]
    metadata = {**DEEPSEEK_V3, "block_count": 2, "nextn_predict_layers": 1}
    spec = read_file(write(tmp_path / "m.gguf", "deepseek2", metadata, tensors))
    assert bytes_by_class(spec)[TensorClass.PREDICTION] == stored(tensors[1:])
    assert spec.num_layers == 1


def test_recurrent_layers_have_a_mixer_and_no_attention(tmp_path: Path) -> None:
    """Qwen3-Next: 16 × 128 queries and keys, 32 × 128 values, a convolution of 4 over them all."""
    tensors: list[TENSOR] = [
        ("blk.0.attn_qkv.weight", (8192, 2048), Q4_K),
        ("blk.0.attn_gate.weight", (4096, 2048), Q4_K),
        ("blk.0.ssm_conv1d.weight", (8192, 4), F32),
    ]
    metadata = {**QWEN3_NEXT, "block_count": 1}
    spec = read_file(write(tmp_path / "m.gguf", "qwen3next", metadata, tensors))
    assert set(bytes_by_class(spec)) == {TensorClass.MIXER, TensorClass.SMALL}
    assert not any(doubt.touches_kv for doubt in spec.doubts)


def test_names_that_are_not_known_are_counted(tmp_path: Path) -> None:
    tensors: list[TENSOR] = [*llama_layer(0, Q6_K, Q6_K), ("blk.0.wonder", (256, 256), IQ2_XXS), ("odd", (7,), F16)]
    spec = read_file(write(tmp_path / "m.gguf", "llama", {**SMALL, "block_count": 1}, tensors))
    assert bytes_by_class(spec).total() == stored(tensors)


def test_every_listed_name_is_one_of_llama_cpp() -> None:
    known = {name.removeprefix("blk.{bid}.") for name in TENSOR_NAMES.values()}
    assert set(OUTSIDE) <= known
    assert set(IN_LAYERS) <= known


def test_names_left_out_are_those_of_architectures_that_are_not_read() -> None:
    """RWKV and CogVLM, and small tensors of Gemma 3n, which every rank holds whole."""
    names = {name.removeprefix("blk.{bid}.") for name in TENSOR_NAMES.values() if name.startswith("blk.")}
    left_out = {name for name in names - set(IN_LAYERS) if "norm" not in name}
    small = {"attn_rot_embd", "layer_output_scale", "ffn"}
    others = ("time_mix_", "channel_mix_", "vis_", "altup_")
    assert {name for name in left_out if not name.startswith(others)} == small


def test_types_are_numbered_as_in_ggml() -> None:
    """Q2_0 came after this release of the gguf package."""
    ours = {number: name.removeprefix("ggml-") for number, name in TYPES.items() if name != "q2_0"}
    assert ours == {int(kind): kind.name.lower() for kind in GGMLQuantizationType}


def split(folder: Path, count: int = 2) -> list[Path]:
    tensors = llama_layer(0, Q6_K, Q6_K)
    metadata: dict[str, Any] = {**SMALL, "block_count": 1, "split.count": count}
    first = write(folder / f"m-00001-of-{count:05}.gguf", "llama", metadata, tensors[:4])
    second = write(folder / f"m-00002-of-{count:05}.gguf", "llama", {"split.count": count}, tensors[4:])
    return [first, second]


def test_the_files_of_a_split_model_are_one(tmp_path: Path) -> None:
    paths = split(tmp_path)
    for path in (*paths, tmp_path):
        assert bytes_by_class(read_file(path)).total() == stored(llama_layer(0, Q6_K, Q6_K))


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    first, second = split(tmp_path)
    second.unlink()
    with pytest.raises(ConfigError, match=second.name):
        read_file(first)


def test_a_part_under_another_name_is_no_whole_model(tmp_path: Path) -> None:
    first, _ = split(tmp_path)
    with pytest.raises(ConfigError, match="one of 2 files"):
        read_file(first.rename(tmp_path / "alone.gguf"))
