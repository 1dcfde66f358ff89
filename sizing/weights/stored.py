"""Bytes of one whole copy of a model, as a checkpoint of a precision stores it."""

from collections import Counter
from collections.abc import Iterable

from model_catalog.spec import ModelSpec
from model_catalog.tensors import TensorClass
from sizing.weights.inventory import Inventory, Stored, inventory


def stored_bytes(spec: ModelSpec, precision: str = "auto") -> dict[TensorClass, int]:
    """Bytes by class of all there is: layers, ends, towers, prediction layers; a tied head is counted once.

    Raises ScenarioError for an unknown precision.
    """
    held = inventory(spec, precision)
    if "stored" not in held.known:
        held.known["stored"] = _by_class(held)
    return dict(held.known["stored"])


def _by_class(held: Inventory) -> dict[TensorClass, int]:
    total = part_bytes((*held.first, *held.last, *held.towers))
    for number, layers in Counter(held.layer_kinds).items():
        add(total, part_bytes(held.kinds[number]), layers)
    return total


def part_bytes(part: Iterable[Stored]) -> dict[TensorClass, int]:
    """Bytes by class of some tensors, undivided."""
    total: dict[TensorClass, int] = {}
    for each in part:
        kind = each.tensor.kind
        total[kind] = total.get(kind, 0) + size_of(each)
    return total


def size_of(stored: Stored) -> int:
    return stored.packing.bytes_of(*matrix(stored.tensor.shape)) * stored.tensor.count


def matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns: the last axis is the input; a vector is one column."""
    if len(shape) < 2:
        return (shape[0] if shape else 1), 1
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return rows, shape[-1]


def add(total: dict[TensorClass, int], more: dict[TensorClass, int], times: int = 1) -> None:
    for kind, size in more.items():
        total[kind] = total.get(kind, 0) + size * times
