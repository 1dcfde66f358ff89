"""Weights of files on this machine: of a GGUF file to the byte, of a safetensors folder held against its own size."""

import json
from pathlib import Path
from typing import Any

import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from model_catalog.gguf.types import TYPES
from sizing.answer import answer
from sizing.weights.packing import GGML, PACKED, PLAIN
from tests.model_catalog.gguf_files import TENSOR, stored, write
from tests.model_catalog.test_gguf_tensors import ENDS, Q4_K, Q6_K, SMALL, llama_layer

FILE = [*ENDS, *llama_layer(0, Q6_K, Q6_K), *llama_layer(1, Q4_K, Q4_K)]


def report(model: Path, **changes: Any) -> dict[str, Any]:
    return answer({"model": str(model), "engine": "minimum", "context_length": 1024, **changes})


@pytest.mark.parametrize("kind", [kind for kind in GGML_QUANT_SIZES if kind is not GGMLQuantizationType.Q8_1])
def test_every_type_takes_what_ggml_says(kind: GGMLQuantizationType) -> None:
    """Of Q8_1, which no file holds, this release of the gguf package says 40 bytes; ggml-common.h says 36."""
    name, (block, size) = TYPES[int(kind)], GGML_QUANT_SIZES[kind]
    packing = PLAIN.get(name) or PACKED.get(name) or GGML[name]
    assert packing.bytes_of(3, 4 * block) == 12 * size


def test_auto_is_the_sum_of_the_files_tensors(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "llama", SMALL, FILE)
    found = report(path)
    assert found["per_gpu"]["weights_bytes"] == stored(FILE)
    assert (found["grades"]["weights"], found["grades"]["kv"]) == ("exact", "exact")


@pytest.mark.parametrize("name", ["IQ2_XXS", "IQ3_S", "IQ1_M", "TQ1_0", "NVFP4", "MXFP4", "Q4_1"])
def test_types_that_are_never_chosen_here(tmp_path: Path, name: str) -> None:
    tensors: list[TENSOR] = [*FILE, ("blk.1.extra.weight", (512, 4096), GGMLQuantizationType[name])]
    path = write(tmp_path / "m.gguf", "llama", SMALL, tensors)
    assert report(path)["per_gpu"]["weights_bytes"] == stored(tensors)


def test_two_ranks_hold_the_file_and_the_norms_twice(tmp_path: Path) -> None:
    found = report(write(tmp_path / "m.gguf", "llama", SMALL, FILE), tensor_parallel=2)
    norms: list[TENSOR] = [tensor for tensor in FILE if "norm" in tensor[0] or "rope" in tensor[0]]
    assert found["cluster"]["weights_bytes"] == stored(FILE) + stored(norms)


def test_llama_cpp_loads_the_file_as_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "llama", SMALL, FILE)
    found = report(path, engine="llama.cpp", accelerator="h100-sxm5-80gb")
    host = stored(ENDS[:1])  # the input embedding stays on the host
    assert abs(found["per_gpu"]["weights_bytes"] - (stored(FILE) - host)) <= stored(ENDS[3:])


def test_another_precision_may_be_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "llama", SMALL, FILE)
    elements = sum(stored([(name, shape, GGMLQuantizationType.BF16)]) for name, shape, _ in FILE)
    assert report(path, weights="bf16")["per_gpu"]["weights_bytes"] == elements


CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "dtype": "bfloat16",
}
PUBLISHED = 16_060_522_496  # total_size of meta-llama/Llama-3.1-8B-Instruct


def folder(path: Path, size: int) -> Path:
    (path / "config.json").write_text(json.dumps(CONFIG))
    index = {"metadata": {"total_size": size}, "weight_map": {"a": "model-00001-of-00004.safetensors"}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    return path


def test_a_folder_of_the_size_that_is_counted(tmp_path: Path) -> None:
    found = report(folder(tmp_path, PUBLISHED))
    assert found["grades"]["weights"] == "exact"
    assert found["per_gpu"]["weights_bytes"] == PUBLISHED


def test_a_folder_of_another_size_is_doubted_with_both_numbers(tmp_path: Path) -> None:
    found = report(folder(tmp_path, PUBLISHED + PUBLISHED // 900))
    assert (found["grades"]["weights"], found["grades"]["kv"]) == ("assumed", "exact")
    assert any("16,060,522,496" in note and "16,078,367,520" in note for note in found["notes"])


def test_an_unusable_index_is_a_sentence(tmp_path: Path) -> None:
    folder(tmp_path, PUBLISHED)
    (tmp_path / "model.safetensors.index.json").write_text("[")
    assert report(tmp_path)["error"]["field"] == "model"


def test_names_that_no_system_can_hold() -> None:
    assert "cannot be read" in report(Path("a" * 500 + ".gguf"))["error"]["message"]
