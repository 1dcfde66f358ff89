"""GGUF files that were split: the first holds the metadata, each its own tensors (llama.cpp tools/gguf-split)."""

from dataclasses import replace
from pathlib import Path

from model_catalog.fields import ConfigError
from model_catalog.gguf.header import Header, read_header
from model_catalog.gguf.names import parts_of


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
