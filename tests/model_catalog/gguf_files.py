"""GGUF headers as llama.cpp writes them, without tensor data, so that a real model's file takes kilobytes."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter

TENSOR = tuple[str, tuple[int, ...], GGMLQuantizationType]
F16, F32 = GGMLQuantizationType.F16, GGMLQuantizationType.F32


def write(path: Path, arch: str, metadata: Mapping[str, Any], tensors: Sequence[TENSOR] = ()) -> Path:
    """`metadata` by keys without the architecture's prefix. Shapes have the input axis last, as checkpoints have."""
    writer = GGUFWriter(path, arch)
    for key, value in metadata.items():
        _add(writer, key if key.startswith(("tokenizer.", "general.", "split.")) else f"{arch}.{key}", value)
    for name, shape, kind in tensors:
        writer.add_tensor_info(name, shape, np.dtype(np.float32), 0, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return path


def _add(writer: GGUFWriter, key: str, value: Any) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)


def stored(tensors: Sequence[TENSOR]) -> int:
    """Bytes of the tensors by the gguf package's own table."""
    total = 0
    for _, shape, kind in tensors:
        block, size = GGML_QUANT_SIZES[kind]
        total += prod(shape) // block * size
    return total
