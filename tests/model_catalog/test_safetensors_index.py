"""Bytes of a folder's weights, from headers or from the index beside them."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from model_catalog import safetensors_index
from model_catalog.fields import ConfigError
from model_catalog.safetensors_index import INDEX, stated_bytes


def header(tensors: dict[str, Any]) -> bytes:
    content = json.dumps(tensors).encode()
    return struct.pack("<Q", len(content)) + content


def tensor(begin: int, end: int) -> dict[str, Any]:
    return {"dtype": "BF16", "shape": [(end - begin) // 2], "data_offsets": [begin, end]}


def write_index(folder: Path, index: Any) -> None:
    (folder / INDEX).write_text(json.dumps(index))


def test_headers_are_summed(tmp_path: Path) -> None:
    first = {"__metadata__": {"format": "pt"}, "a": tensor(0, 100), "b": tensor(100, 164)}
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(header(first))
    (tmp_path / "model-00002-of-00002.safetensors").write_bytes(header({"c": tensor(0, 8)}))
    assert stated_bytes(tmp_path) == 172


def test_files_beside_those_of_the_index_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "one.safetensors").write_bytes(header({"a": tensor(0, 100)}))
    (tmp_path / "two.safetensors").write_bytes(header({"a": tensor(0, 100)}))
    write_index(tmp_path, {"metadata": {"total_size": 5}, "weight_map": {"a": "one.safetensors"}})
    assert stated_bytes(tmp_path) == 100


def test_mistrals_own_copy_does_not_count_twice(tmp_path: Path) -> None:
    for name in ("model.safetensors", "consolidated.safetensors"):
        (tmp_path / name).write_bytes(header({"a": tensor(0, 100)}))
    assert stated_bytes(tmp_path) == 100


@pytest.mark.parametrize("size", [16060522496, 16060522496.0])
def test_the_index_alone(tmp_path: Path, size: float) -> None:
    """meta-llama/Llama-3.1-8B-Instruct: 8,030,261,248 parameters of two bytes."""
    places = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    write_index(tmp_path, {"metadata": {"total_size": size}, "weight_map": places})
    assert stated_bytes(tmp_path) == 2 * 8_030_261_248


def test_a_folder_without_weights_says_nothing(tmp_path: Path) -> None:
    assert stated_bytes(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 2**63),
        struct.pack("<Q", 10**6) + b"{}",
        struct.pack("<Q", 4) + b"[[[[",
        struct.pack("<Q", 100_000) + b"[" * 100_000,
        struct.pack("<Q", 2) + b"[]",
        header({"a": {"data_offsets": [0, "many"]}}),
        header({"a": {"data_offsets": [100, 0]}}),
        header({"a": {"data_offsets": [0, 2**60]}}),
        header({"a": {"data_offsets": [-1, 5]}}),
    ],
)
def test_unusable_headers(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ConfigError, match=r"model\.safetensors"):
        stated_bytes(tmp_path)


@pytest.mark.parametrize(
    "index",
    [[], {"metadata": {"total_size": "big"}}, {"metadata": {"total_size": -1}}, {"metadata": {"total_size": 1e300}}],
)
def test_unusable_indexes(tmp_path: Path, index: Any) -> None:
    write_index(tmp_path, index)
    with pytest.raises(ConfigError, match="index"):
        stated_bytes(tmp_path)


def test_names_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "other.safetensors").write_bytes(header({"a": tensor(0, 100)}))
    write_index(inner, {"metadata": {"total_size": 7}, "weight_map": {"a": "../other.safetensors"}})
    assert stated_bytes(inner) == 7


def test_all_headers_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safetensors_index, "MOST_HEADER_BYTES", 100)
    for number in range(3):
        (tmp_path / f"model-{number}.safetensors").write_bytes(header({"a": tensor(0, 8)}))
    with pytest.raises(ConfigError, match="too long"):
        stated_bytes(tmp_path)


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    write_index(tmp_path, {"weight_map": {str(number): f"{number}.safetensors" for number in range(5000)}})
    with pytest.raises(ConfigError, match="more than 4,096 files"):
        stated_bytes(tmp_path)
