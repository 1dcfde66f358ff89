"""Every tensor that a transformers cache object holds, whatever its class, with its bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedConfig


@dataclass(frozen=True)
class CacheTensor:
    """One tensor that a cache holds: where (`layer`, `kind`), its shape and dtype, and its bytes.

    `bytes` counts the elements the tensor shows. `storage_bytes` counts the memory it keeps alive, which is more for a
    slice of a longer tensor, as a sliding-window layer keeps after a prefill.
    """

    layer: int
    kind: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    storage_bytes: int


def cache_tensors(cache: Any, name: str) -> Iterator[CacheTensor]:
    """Each tensor once: keys and values that are one tensor are counted as one, a shared storage likewise."""
    seen: set[tuple[Any, ...]] = set()
    storages: set[int] = set()
    for layer, kind, tensor in _walk(cache, -1, name):
        storage = tensor.untyped_storage()
        view = (storage._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        if view in seen:
            continue
        held = 0 if storage._cdata in storages else storage.nbytes()
        seen.add(view)
        storages.add(storage._cdata)
        size = tensor.numel() * tensor.element_size()
        dtype = str(tensor.dtype).removeprefix("torch.")
        yield CacheTensor(layer, kind, tuple(tensor.shape), dtype, size, held)


def _walk(held: Any, layer: int, kind: str) -> Iterator[tuple[int, str, torch.Tensor]]:
    """(layer, kind, tensor) of everything below a cache object; scalars are bookkeeping and are left out."""
    if isinstance(held, torch.Tensor):
        if held.dim() > 0 and held.numel() > 0:
            yield layer, kind, held
    elif isinstance(held, (list, tuple)):
        for index, item in enumerate(held):
            yield from _walk(item, index if layer < 0 else layer, kind)
    elif isinstance(held, Mapping):
        for key, item in held.items():
            yield from _walk(item, key if layer < 0 and isinstance(key, int) else layer, kind)
    elif type(held).__module__.startswith("transformers.") and not isinstance(held, PreTrainedConfig):
        cross = "cross_" if kind.startswith("cross") else ""
        for name, item in vars(held).items():
            yield from _walk(item, layer, name if name == "cross_attention_cache" else cross + name)
