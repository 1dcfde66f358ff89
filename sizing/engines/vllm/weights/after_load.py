"""What vLLM's post-processing makes of loaded weights (process_weights_after_loading of its layers)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from model_catalog.spec import ModelSpec
from model_catalog.tensors import Shard
from sizing.engines.vllm.weights.allocator import fused
from sizing.placement import Placement, stage_sizes
from sizing.weights.inventory import Inventory, Part, Stored, inventory
from sizing.weights.packing import GGML, PACKED, PLAIN, Packing
from sizing.weights.ranks import Ranks, divided, tensor_bytes

HALF = 2
UNPACKED = frozenset(PLAIN.values())
GGML_TYPES = frozenset(GGML.values())
FP8 = frozenset({PACKED["fp8"], PACKED["fp8-tensor"], PACKED["fp8-block"]})
FIRST_WITH_FP8 = (8, 9)  # cards before it run FP8 with Marlin
SCALE_BITS = 16


def absorbed_copies(spec: ModelSpec, precision: str, placement: Placement) -> list[int]:
    """Bytes of each stage's 16-bit copies of kv_b_proj, which latent attention makes where it is quantised."""
    held = inventory(spec, precision)
    each = [_copy(part, placement.tensor_parallel) for part in held.kinds]
    sizes = stage_sizes(len(held.layer_kinds), placement.pipeline_parallel)
    return _by_stage(each, held, sizes)


def _copy(part: Part, ranks: int) -> int:
    total = 0
    for stored in part:
        tensor = stored.tensor
        if tensor.name.endswith("kv_b_proj.weight") and stored.packing not in UNPACKED:
            total += HALF * tensor.elements // tensor.units * divided(tensor.units, ranks)
    return total


def repacked(held: Inventory, ranks: Ranks, sizes: list[int], *, fp8: bool) -> list[int]:
    """Bytes that each stage of so many layers has more, or fewer, after Marlin laid matrices out.

    Of GPTQ it drops the zero points, which are all alike in symmetric checkpoints, and the order of the columns. `fp8`:
    it runs FP8 too, and keeps scales in 16 bits for each row and, of blocks, each 128 columns (layers/quantization/
    kernels/mixed_precision/marlin.py, utils/marlin_utils_fp8.py). Log v006 has such experts: 1/64 more than FP8.
    """
    packings = {id(stored.packing): _marlin(stored.packing, fp8) for part in held.kinds for stored in part}
    each = [sum(_change(stored, packings[id(stored.packing)], ranks) for stored in part) for part in held.kinds]
    return _by_stage(each, held, sizes)


def _change(stored: Stored, packing: Packing, ranks: Ranks) -> int:
    if packing == stored.packing:
        return 0
    return tensor_bytes(replace(stored, packing=packing), ranks) - tensor_bytes(stored, ranks)


def _marlin(packing: Packing, fp8: bool) -> Packing:
    if packing.column_bytes:  # only GPTQ stores an order of columns
        return replace(packing, block_bits=SCALE_BITS, column_bytes=0)
    if fp8 and packing in FP8:
        return Packing(packing.bits, 1, packing.block_columns, SCALE_BITS)
    return packing


def joined_gguf(held: Inventory, ranks: Ranks, sizes: list[int]) -> list[int]:
    """Bytes that each stage of so many layers has more than its GGUF file stores.

    Projections of several types that are joined have rows as long as the longest; what the file has in 32 bits is kept
    in 16 (layers/quantization/gguf.py, vllm 0.5 to 0.23).
    """
    each = [_joined(part, ranks) for part in held.kinds]
    return _by_stage(each, held, sizes)


def _joined(part: Part, ranks: Ranks) -> int:
    rows: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)  # bytes of a row, and of all rows
    total = 0
    for stored in part:
        size = tensor_bytes(stored, ranks)
        if stored.packing == GGML["f32"]:
            total -= size // HALF
        elif stored.packing in GGML_TYPES and stored.tensor.shard is not Shard.EXPERT:
            rows[fused(stored.tensor.name)].append((stored.packing.bytes_of(1, stored.tensor.shape[-1]), size))
    for joined in rows.values():
        longest = max(row for row, _ in joined)
        total += sum(size // row * (longest - row) for row, size in joined)
    return total


def _by_stage(each: Sequence[int], held: Inventory, sizes: Sequence[int]) -> list[int]:
    """`each` are bytes of the kinds of layers."""
    ends = accumulate(sizes)
    return [
        sum(each[kind] for kind in held.layer_kinds[end - size : end]) for size, end in zip(sizes, ends, strict=True)
    ]
