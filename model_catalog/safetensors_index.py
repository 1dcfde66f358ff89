"""How many bytes the safetensors files of a folder hold, from their headers or from the index beside them.

A file begins with the length of its header and the header itself, a JSON object that gives each tensor's place
(safetensors format, 100 MB at most). No tensor data is read.
"""

import json
from pathlib import Path
from typing import Any, Final

from model_catalog.fields import ConfigError

INDEX: Final = "model.safetensors.index.json"
MOST_HEADER_BYTES: Final = 100_000_000  # of one header, and of all headers of a folder together
MOST_FILES: Final = 4096
MOST_BYTES: Final = 2**50
LENGTH: Final = 8  # bytes of the header's length


def stated_bytes(folder: Path) -> int | None:
    """Bytes of all tensors; None where the folder says nothing of weights. Raises ConfigError for unusable files."""
    index = folder / INDEX
    stated = _object(index, _text(index, MOST_HEADER_BYTES)) if index.is_file() else None
    files = _listed(folder, stated) if stated is not None else _found(folder)
    if files and all(file.is_file() for file in files):
        return _summed(files)
    return _total_size(index, stated) if stated is not None else None


def _listed(folder: Path, index: dict[str, Any]) -> list[Path]:
    """The files that the index names; names that lead out of the folder are not followed."""
    places = index.get("weight_map")
    names = {name for name in places.values() if isinstance(name, str)} if isinstance(places, dict) else set()
    if len(names) > MOST_FILES:
        raise ConfigError("model", f"{folder / INDEX} names more than {MOST_FILES:,} files.")
    return [folder / name for name in sorted(names) if Path(name).name == name]


def _found(folder: Path) -> list[Path]:
    """All safetensors files but the copy in Mistral's own format, where there are others."""
    files = sorted(folder.glob("*.safetensors"))
    if len(files) > MOST_FILES:
        raise ConfigError("model", f"The folder {folder} holds more than {MOST_FILES:,} safetensors files.")
    return [file for file in files if not file.name.startswith("consolidated")] or files


def _total_size(index: Path, stated: dict[str, Any]) -> int | None:
    metadata = stated.get("metadata")
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if size is None:
        return None
    if isinstance(size, float) and size.is_integer():
        size = round(size)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 < size <= MOST_BYTES:
        raise ConfigError("model", f"metadata.total_size in {index} is no number of bytes.")
    return size


def _summed(files: list[Path]) -> int:
    total, left = 0, MOST_HEADER_BYTES
    for file in files:
        header = _header(file, left)
        left -= len(header)
        total += _tensor_bytes(file, _object(file, header))
    return total


def _header(file: Path, most: int) -> str:
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(LENGTH), "little")
            if length > min(most, file.stat().st_size):
                raise ConfigError("model", f"{file} is not a usable safetensors file: its header is too long.")
            return opened.read(length).decode("utf-8", errors="replace")
    except OSError as error:
        raise ConfigError("model", f"{file} cannot be read: {error.strerror}.") from None


def _tensor_bytes(file: Path, header: dict[str, Any]) -> int:
    places = (entry.get("data_offsets") for entry in header.values() if isinstance(entry, dict))
    total = 0
    for place in places:
        match place:
            case [int(begin), int(end)] if 0 <= begin <= end <= MOST_BYTES:
                total += end - begin
            case None:  # __metadata__
                pass
            case _:
                raise ConfigError("model", f"{file} is not a usable safetensors file: a tensor has no place.")
    return total


def _text(path: Path, most: int) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(most + 1)
    except OSError as error:
        raise ConfigError("model", f"{path} cannot be read: {error.strerror}.") from None
    if len(text) > most:
        raise ConfigError("model", f"{path} is longer than {most:,} characters.")
    return text


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError("model", f"{path} does not hold the JSON that it should.") from None
    if not isinstance(value, dict):
        raise ConfigError("model", f"{path} holds JSON, but not an object.")
    return value
