"""What vLLM's post-processing makes of loaded weights (ENGINE_MEMORY 9)."""

from dataclasses import replace

from model_catalog.spec import ModelSpec
from sizing.placement import Placement, stage_sizes
from sizing.weights.inventory import Inventory, Part, Stored, inventory
from sizing.weights.packing import PLAIN
from sizing.weights.ranks import Ranks, divided, tensor_bytes

HALF = 2
UNPACKED = frozenset(PLAIN.values())
SCALE_BITS = 16


def absorbed_copies(spec: ModelSpec, precision: str, placement: Placement) -> list[int]:
    """Bytes of each stage's 16-bit copies of kv_b_proj, which latent attention makes where it is quantised."""
    held = inventory(spec, precision)
    each = [_copy(part, placement.tensor_parallel) for part in held.kinds]
    sizes = stage_sizes(len(held.layer_kinds), placement.pipeline_parallel)
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [
        sum(each[kind] for kind in held.layer_kinds[end - size : end]) for size, end in zip(sizes, ends, strict=True)
    ]


def _copy(part: Part, ranks: int) -> int:
    total = 0
    for stored in part:
        tensor = stored.tensor
        if tensor.name.endswith("kv_b_proj.weight") and stored.packing not in UNPACKED:
            total += HALF * tensor.elements // tensor.units * divided(tensor.units, ranks)
    return total


def repacked(held: Inventory, ranks: Ranks, sizes: list[int]) -> list[int]:
    """Bytes, none or fewer, that each stage of so many layers has after Marlin laid GPTQ's matrices out.

    It drops the zero points, which are all alike in symmetric checkpoints, and the order of the columns
    (layers/quantization/kernels/mixed_precision/marlin.py).
    """
    each = [sum(_dropped(stored, ranks) for stored in part) for part in held.kinds]
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [
        -sum(each[kind] for kind in held.layer_kinds[end - size : end]) for size, end in zip(sizes, ends, strict=True)
    ]


def _dropped(stored: Stored, ranks: Ranks) -> int:
    packing = stored.packing
    if not packing.column_bytes:  # only GPTQ stores an order of columns
        return 0
    bare = replace(packing, block_bits=SCALE_BITS, column_bytes=0)
    return tensor_bytes(stored, ranks) - tensor_bytes(replace(stored, packing=bare), ranks)
