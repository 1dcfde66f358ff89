"""GGUF files that are wrong or hostile: one sentence, in bounded time and memory."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import given, settings
from hypothesis import strategies as st

from model_catalog.fields import ConfigError
from model_catalog.files import read_file
from model_catalog.gguf.header import read_header
from tests.model_catalog.gguf_files import F16, write
from tests.model_catalog.test_gguf_metadata import LLAMA_8B

U8, STRING, ARRAY = 0, 8, 9


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def header(tensors: int = 0, entries: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries)


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(kind: int, count: int, items: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + items


def tensor(name: bytes, sizes: tuple[int, ...], kind: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, 0)


CASES = {
    "empty": b"",
    "another format": b"PK\x03\x04" + bytes(64),
    "only the letters": b"GGUF",
    "version 1": header(version=1),
    "byte order of other machines": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "2^64 − 1 tensors": header(tensors=2**64 - 1),
    "2^64 − 1 entries": header(entries=2**64 - 1),
    "more entries than bytes": header(entries=4000),
    "a key of 2^63 bytes": header(entries=1) + struct.pack("<Q", 2**63),
    "a text of 2^63 bytes": header(entries=1) + text(b"a") + struct.pack("<IQ", STRING, 2**63),
    "an unknown type of value": header(entries=1) + entry(b"a", 99, b""),
    "an array of 2^62 bytes": header(entries=1) + entry(b"a", ARRAY, array(U8, 2**62)),
    "an array of 2^62 texts": header(entries=1) + entry(b"a", ARRAY, array(STRING, 2**62)),
    "an array of more texts than there are": header(entries=1) + entry(b"a", ARRAY, array(STRING, 10**6)),
    "an array of arrays": header(entries=1) + entry(b"a", ARRAY, array(ARRAY, 1, array(ARRAY, 1) * 1000)),
    "a key twice": header(entries=2) + entry(b"a", U8, b"\1") * 2,
    "a tensor of 900 axes": header(tensors=1) + text(b"a") + struct.pack("<I", 900) + bytes(8000),
    "a tensor of 2^64 − 1 rows": header(tensors=1) + tensor(b"a", (1, 2**64 - 1), 0),
    "a tensor without elements": header(tensors=1) + tensor(b"a", (4, 0), 0),
    "an unknown tensor type": header(tensors=1) + tensor(b"a", (4,), 77),
    "a tensor without a name": header(tensors=1) + tensor(b"", (4,), 0),
    "a tensor twice": header(tensors=2) + tensor(b"a", (4,), 0) * 2,
    "no architecture": header(),
    "an architecture that is a number": header(entries=1) + entry(b"general.architecture", U8, b"\1"),
    "an architecture of 4,000 letters": header(entries=1) + entry(b"general.architecture", STRING, text(b"a" * 4000)),
}


@pytest.mark.parametrize("content", CASES.values(), ids=CASES.keys())
def test_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_file(path)
    assert caught.value.message.endswith(".") and len(caught.value.message) < 400


def test_a_vocabulary_is_passed_over(tmp_path: Path) -> None:
    """152,000 tokens and as many merges, as in Qwen's files, where the gguf package's reader takes 500 MB."""
    words = [f"token{number}" for number in range(152_000)]
    metadata = {**LLAMA_8B, "tokenizer.ggml.tokens": words, "tokenizer.ggml.merges": words}
    path = write(tmp_path / "m.gguf", "llama", metadata)
    tracemalloc.start()
    found = read_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.lengths["tokenizer.ggml.tokens"] == 152_000
    assert peak < 2_000_000


def test_the_tokens_are_the_vocabulary_where_there_is_no_embedding(tmp_path: Path) -> None:
    metadata = {key: value for key, value in LLAMA_8B.items() if key != "vocab_size"}
    path = write(tmp_path / "m.gguf", "llama", {**metadata, "tokenizer.ggml.tokens": ["a", "b", "c"]})
    assert read_file(path).vocab_size == 3


def test_large_arrays_of_numbers_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header(entries=1) + entry(b"a", ARRAY, array(U8, 10**6, bytes(10**6))))
    found = read_header(path)
    assert (found.metadata, found.lengths) == ({}, {"a": 10**6})


def test_the_header_is_what_the_gguf_package_reads(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", "llama", {**LLAMA_8B, "f": 1.5, "b": True, "each": [1, 2, 3]})
    ours, theirs = read_header(path), GGUFReader(path)
    for key, value in ours.metadata.items():
        assert theirs.fields[key].contents() == value
    assert len(ours.metadata) == len([key for key in theirs.fields if not key.startswith("GGUF.")])


@settings(max_examples=300, deadline=2000)
@given(data=st.data())
def test_no_damage_gives_a_traceback(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    metadata = {**LLAMA_8B, "block_count": 2, "attention.head_count_kv": [8, 8]}
    content = bytearray(write(path, "llama", metadata, [("blk.0.attn_k.weight", (1024, 4096), F16)]).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content)
    try:
        spec = read_file(path)
    except ConfigError as error:
        sentence = error.message
    else:
        sentence = f"{spec.num_layers} layers"
    assert sentence
