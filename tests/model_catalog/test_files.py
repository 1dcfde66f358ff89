"""Paths given as a model: files, folders, and what is neither."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from model_catalog.fields import ConfigError
from model_catalog.files import is_path, read_file
from tests.model_catalog.gguf_files import write
from tests.model_catalog.test_gguf_metadata import LLAMA_8B

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 256,
}


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("my-config.json", True),
        ("model.gguf", True),
        ("./folder", True),
        ("~/folder", True),
        ("/folder", True),
        ("meta-llama/Llama-3.1-8B-Instruct", False),
    ],
)
def test_what_is_a_path(model: str, path: bool) -> None:
    assert is_path(model) == path


def test_a_json_file_of_any_name(tmp_path: Path) -> None:
    path = tmp_path / "anything.json"
    path.write_text(json.dumps(CONFIG))
    assert read_file(path).num_layers == 2


def test_the_config_of_a_folder_comes_first(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    write(tmp_path / "m.gguf", "llama", LLAMA_8B)
    assert read_file(tmp_path).num_layers == 2


def test_the_one_gguf_file_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", "llama", LLAMA_8B)
    write(tmp_path / "mmproj-m.gguf", "clip", {})
    assert read_file(tmp_path).num_layers == 32


def test_of_several_gguf_files_one_must_be_given(tmp_path: Path) -> None:
    for name in ("a-q4.gguf", "a-q8.gguf"):
        write(tmp_path / name, "llama", LLAMA_8B)
    with pytest.raises(ConfigError, match=r"a-q4\.gguf, a-q8\.gguf"):
        read_file(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no config\.json and no GGUF file"):
        read_file(tmp_path)


@pytest.mark.parametrize("name", ["missing.gguf", "missing.json", "a" * 5000 + ".gguf", "~nobody-of-that-name/m.gguf"])
def test_what_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(Path(name))


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "m.gguf"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="it is no file"):
        read_file(pipe)
