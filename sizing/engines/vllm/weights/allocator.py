"""What "Model loading took" counts: the blocks that PyTorch's allocator hands out (c10/cuda/CUDACachingAllocator.cpp).

A tensor of 10 MiB or more has a segment of its own, rounded up to 2 MiB; what is left over of it is counted where it
is at most 1 MiB. Smaller tensors are rounded to 512 bytes. Since 0.21 models are loaded with max_split_size_mb 20
(v1/worker/gpu_worker.py): of segments of 20 MiB and more all is counted.
"""

from collections import Counter
from dataclasses import replace
from itertools import accumulate

from model_catalog.tensors import Shard
from sizing.units import MIB
from sizing.weights.inventory import Inventory, Part, Stored
from sizing.weights.packing import Packing
from sizing.weights.ranks import Ranks, tensor_bytes

LARGE, SEGMENT, KEPT = 10 * MIB, 2 * MIB, MIB
UNSPLIT = 20 * MIB
SMALLEST = 512
# Projections that vLLM loads into one parameter.
FUSED = (
    ("q_proj.", "qkv"),
    ("k_proj.", "qkv"),
    ("v_proj.", "qkv"),
    ("gate_proj.", "gate_up"),
    ("up_proj.", "gate_up"),
    *((f"in_proj_{part}.", "in_proj_qkvz") for part in "qkvz"),  # models/qwen3_5.py: packed_modules_mapping
)


def counted(size: int, *, unsplit: bool = False) -> int:
    """Bytes counted for one tensor of this size. `unsplit`: as since 0.21."""
    if size < LARGE:
        return rounded(size, SMALLEST)
    segment = rounded(size, SEGMENT)
    whole = segment - size <= KEPT or (unsplit and size >= UNSPLIT)
    return segment if whole else rounded(size, SMALLEST)


def rounded(size: int, step: int) -> int:
    return -(-size // step) * step


def rounding_bytes(held: Inventory, ranks: Ranks, stages: list[int], *, unsplit: bool) -> list[int]:
    """What rounding adds on pipeline stages of so many layers; that of the ends is counted on each, as on one."""
    each = [_part(part, ranks, unsplit) for part in held.kinds]
    ends = _part((*held.first, *held.last), ranks, unsplit)
    lasts = list(accumulate(stages))
    return [
        ends + sum(each[kind] for kind in held.layer_kinds[last - size : last])
        for size, last in zip(stages, lasts, strict=True)
    ]


def _part(part: Part, ranks: Ranks, unsplit: bool) -> int:
    """All experts of a layer are one tensor; other tensors with a count are as many. Scales are apart from what they
    scale.
    """
    data: Counter[tuple[str, int]] = Counter()
    scales: Counter[tuple[str, int]] = Counter()
    for each in part:
        times = 1 if each.tensor.shard is Shard.EXPERT else each.tensor.count
        name, size = (fused(each.tensor.name), times), tensor_bytes(each, ranks)
        bare = tensor_bytes(_without_scales(each), ranks)
        data[name] += bare // times
        scales[name] += (size - bare) // times
    return sum(
        times * (counted(size, unsplit=unsplit) - size)
        for sizes in (data, scales)
        for (_, times), size in sizes.items()
    )


def _without_scales(each: Stored) -> Stored:
    """ggml's blocks hold their own."""
    packing = each.packing
    if not packing.bits or packing == Packing(packing.bits):
        return each
    return replace(each, packing=Packing(packing.bits))


def fused(name: str) -> str:
    """The parameter that a tensor is loaded into."""
    for part, whole in FUSED:
        if part in name:
            return name.replace(part, f"{whole}.")
    return name
