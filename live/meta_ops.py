"""Lets a model run on torch's meta device where the model asks what a tensor holds.

Meta tensors have a shape and a dtype but no values, so an operation whose result depends on values (`item`, `nonzero`,
a boolean mask as index) fails. The bytes that a cache keeps do not depend on those values: the expert that a token is
routed to, or whether a mask is all true, changes no cached shape. Inside `MetaOps` such an operation answers with a
fixed stand-in instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


def _item(tensor: torch.Tensor, *_: Any, **__: Any) -> bool | int | float | complex:
    return torch.zeros((), dtype=tensor.dtype, device="cpu").item()


def _to_copy(tensor: torch.Tensor, *_: Any, **kwargs: Any) -> torch.Tensor:
    dtype = kwargs.get("dtype") or tensor.dtype
    return torch.zeros(tensor.shape, dtype=dtype, device=kwargs["device"])


def _nonzero(tensor: torch.Tensor) -> torch.Tensor:
    # No row: a loop over the experts that were hit is then passed over.
    return torch.empty((0, tensor.dim()), dtype=torch.int64, device=tensor.device)


def _masked_select(tensor: torch.Tensor, _mask: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)


def _index(tensor: torch.Tensor, indices: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """Index with every boolean mask taken as all true, the one case whose shape is known."""
    whole: list[torch.Tensor | None] = []
    for index in indices:
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            whole.append(index)
        else:
            rows = torch.empty(index.numel(), dtype=torch.int64, device=tensor.device)
            whole.extend([rows] * index.dim())
    result: torch.Tensor = aten.index.Tensor(tensor, whole)
    return result


def _unchanged(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return tensor


def _always(value: bool) -> Callable[..., torch.Tensor]:
    return lambda *_, **__: torch.full((), value, device="cpu")


STAND_INS: dict[Any, Callable[..., Any]] = {
    aten._local_scalar_dense.default: _item,
    aten.nonzero.default: _nonzero,
    aten.masked_select.default: _masked_select,
    aten.index_put_.default: _unchanged,
    aten.masked_scatter.default: _unchanged,
    # Checks pass (`all`) and exceptions are absent (`any`), as for ordinary text.
    aten.all.default: _always(True),
    aten.any.default: _always(False),
    aten._is_all_true.default: _always(True),
    aten._is_any_true.default: _always(False),
    aten.equal.default: lambda *_, **__: True,
}


def _is_meta(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "meta"


def _has_mask(indices: Sequence[torch.Tensor | None]) -> bool:
    return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices)


class MetaOps(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context in which operations on meta tensors that need values give a stand-in of a fixed shape."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if args and _is_meta(args[0]):
            if func in STAND_INS:
                return STAND_INS[func](*args, **kwargs)
            if func is aten.index.Tensor and _has_mask(args[1]):
                return _index(*args)
            if func is aten._to_copy.default and kwargs.get("device", args[0].device).type != "meta":
                return _to_copy(*args, **kwargs)
        return func(*args, **kwargs)
