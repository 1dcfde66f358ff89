"""GGUF files that were split: the first holds the metadata, each its own tensors (llama.cpp tools/gguf-split)."""

import re
from dataclasses import replace
from pathlib import Path

from model_catalog.fields import ConfigError
from model_catalog.gguf.header import Header, read_header

NUMBERED = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.ASCII)
MOST_FILES = 256


def read_whole(path: Path) -> Header:
    """The header of a file, or of all the files that it is one of, as one."""
    paths = parts_of(path)
    first, *others = [read_header(each) for each in paths]
    stated = first.metadata.get("split.count", 0)
    if stated not in (0, len(paths)) and stated != 1:
        raise ConfigError("model", f"{path} says that it is one of {str(stated)[:20]} files; its name does not.")
    tensors = tuple(tensor for header in (first, *others) for tensor in header.tensors)
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise ConfigError("model", f"The files of {path} hold the same tensor twice.")
    return replace(first, tensors=tensors)


def parts_of(path: Path) -> list[Path]:
    """All files of a model that was split, in their order; a file that was not is alone."""
    named = NUMBERED.fullmatch(path.name)
    if named is None:
        return [path]
    count = int(named["count"])
    if not 0 < count <= MOST_FILES:
        raise ConfigError("model", f"{path} says that it is one of {count:,} files; at most {MOST_FILES:,} are read.")
    parts = [path.with_name(f"{named['stem']}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    missing = [part.name for part in parts if not part.is_file()]
    if missing:
        raise ConfigError("model", f"{path} is one of {count:,} files, and {missing[0]} is missing.")
    return parts
