"""The header of a GGUF file: metadata and the name, shape and type of every tensor. No tensor data is read.

Source: ggml docs/gguf.md, version 3. The gguf package's GGUFReader makes a numpy array of each string, which takes half
a gigabyte and 25 seconds for a vocabulary of 152,000 tokens, and trusts the counts in the file; here strings that are
not needed are passed over, and every count and length is checked first.
"""

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from model_catalog.fields import LARGEST, MOST_LAYERS, ConfigError
from model_catalog.gguf.types import TYPES

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)  # version 1 had 32-bit lengths and was used for a few days
MOST_ENTRIES: Final = 4096  # metadata; published files have about 50
MOST_TENSORS: Final = 65_536  # the largest published files have about 2,000
MOST_STRINGS: Final = 4_000_000  # in all arrays together; a vocabulary of 262,144 with its merges has 800,000
LONGEST_NAME: Final = 1024
MOST_NUMBERS: Final = 65_536  # in all arrays that are kept; they have one for each layer
LONGEST_TEXT: Final = 4096  # longer texts (chat templates) are passed over
MOST_AXES: Final = 4
STRING: Final = 8
ARRAY: Final = 9
NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@dataclass(frozen=True, slots=True)
class FileTensor:
    """`shape` with the longest-striding axis first, as checkpoints have it; `dtype` is a ggml type's name."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Header:
    """`metadata` holds numbers, short texts and arrays of at most a number per layer; `lengths` that of every array."""

    metadata: dict[str, Any]
    lengths: dict[str, int]
    tensors: tuple[FileTensor, ...]


@dataclass(slots=True)
class _Source:
    """An open file that is never read past its end. `strings` and `numbers`: what arrays may still hold."""

    file: IO[bytes]
    size: int
    path: Path
    strings: int = MOST_STRINGS
    numbers: int = MOST_NUMBERS
    lengths: dict[str, int] = field(default_factory=dict)

    def error(self, sentence: str) -> ConfigError:
        return ConfigError("model", f"{self.path} is not a usable GGUF file: {sentence}.")

    def read(self, size: int) -> bytes:
        data = self.file.read(size)
        if len(data) < size:
            raise self.error("it ends within its header")
        return data

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.read(struct.calcsize(code)))[0]

    def skip(self, size: int) -> None:
        if size > self.size - self.file.tell():
            raise self.error("its header names more bytes than the file holds")
        self.file.seek(size, os.SEEK_CUR)

    def text(self, longest: int) -> str | None:
        """A text, or None for one that is longer."""
        length = self.number("Q")
        if length > longest:
            self.skip(length)
            return None
        return self.read(length).decode("utf-8", errors="replace")

    def count(self, code: str, most: int, what: str) -> int:
        value = int(self.number(code))
        if value > most:
            raise self.error(f"it claims {value:,} {what}, more than the {most:,} that are read")
        return value


def read_header(path: Path) -> Header:
    """Raises ConfigError with a sentence that names the file. Time and memory are bounded, whatever the file says."""
    try:
        with path.open("rb") as file:
            return _header(_Source(file, path.stat().st_size, path))
    except OSError as error:
        raise ConfigError("model", f"{path} cannot be read: {error.strerror}.") from None


def _header(source: _Source) -> Header:
    if source.file.read(4) != MAGIC:
        raise source.error("it does not begin with the letters GGUF")
    version = source.number("I")
    if version not in VERSIONS:
        swapped = " (its bytes are in the order of other machines)" if version & 0xFFFF == 0 else ""
        raise source.error(f"it is of version {version:,}{swapped}, and versions 2 and 3 are read")
    tensors = source.count("Q", MOST_TENSORS, "tensors")
    entries = source.count("Q", MOST_ENTRIES, "metadata entries")
    metadata: dict[str, Any] = {}
    for _ in range(entries):
        key = source.text(LONGEST_NAME)
        if key is None or key in metadata:
            raise source.error("a metadata key is too long or comes twice")
        metadata[key] = _value(source, key, source.number("I"))
    held = {key: value for key, value in metadata.items() if value is not None}
    return Header(held, source.lengths, _tensors(source, tensors))


def _value(source: _Source, key: str, kind: int) -> Any:
    """The value, or None for one that is passed over."""
    if kind == STRING:
        return source.text(LONGEST_TEXT)
    if kind == ARRAY:
        return _array(source, key)
    if kind not in NUMBERS:
        raise source.error(f"metadata type {kind:,} is not known")
    return source.number(NUMBERS[kind])


def _array(source: _Source, key: str) -> list[Any] | None:
    """An array of numbers with at most one a layer; the others are passed over, and only their length is kept."""
    kind, length = source.number("I"), int(source.number("Q"))
    source.lengths[key] = length
    if kind == STRING:
        _skip_strings(source, length)
        return None
    if kind not in NUMBERS:
        raise source.error("an array in an array, or of a type that is not known, is not read")
    size = struct.calcsize(NUMBERS[kind])
    if length > MOST_LAYERS or length > source.numbers:
        source.skip(length * size)
        return None
    source.numbers -= length
    return list(struct.unpack(f"<{length}{NUMBERS[kind]}", source.read(length * size)))


def _skip_strings(source: _Source, count: int) -> None:
    source.strings -= count
    if source.strings < 0:
        raise source.error(f"its arrays claim more than {MOST_STRINGS:,} texts")
    for _ in range(count):
        source.skip(source.number("Q"))


def _tensors(source: _Source, count: int) -> tuple[FileTensor, ...]:
    tensors = [_tensor(source) for _ in range(count)]
    if len({tensor.name for tensor in tensors}) != count:
        raise source.error("a tensor comes twice")
    return tuple(tensors)


def _tensor(source: _Source) -> FileTensor:
    name = source.text(LONGEST_NAME)
    if not name:
        raise source.error("the name of a tensor is empty or too long")
    axes = source.count("I", MOST_AXES, "axes of a tensor")
    sizes = [source.count("Q", LARGEST, "elements along an axis") for _ in range(axes)]
    kind = source.number("I")
    source.skip(8)  # where its data begins
    if kind not in TYPES:
        raise source.error(f"the type {kind:,} of tensor {name[:60]} is not known")
    if not all(sizes):
        raise source.error(f"tensor {name[:60]} has no elements")
    return FileTensor(name, tuple(reversed(sizes)) or (1,), TYPES[kind])
