"""Weight bytes on each GPU: the fullest tensor-parallel rank of every pipeline stage."""

from collections import Counter
from dataclasses import dataclass, replace
from math import gcd

from model_catalog.spec import ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass
from sizing.placement import Placement, stage_sizes
from sizing.weights.inventory import Inventory, Part, Stored, inventory
from sizing.weights.linears import is_down
from sizing.weights.packing import Packing
from sizing.weights.stored import add, matrix

EVERYTHING = frozenset(TensorClass)
WITHOUT_PREDICTION = EVERYTHING - {TensorClass.PREDICTION}
ATTENTION_PARTS = frozenset({TensorClass.ATTENTION, TensorClass.INDEXER, TensorClass.MIXER, TensorClass.EMBEDDING})


@dataclass(frozen=True, slots=True)
class Ranks:
    """Over how many ranks each kind of tensor is shared out, and what vocabulary rows are padded to first."""

    tensor: int
    attention: int
    expert: int
    whole_experts: bool
    whole: frozenset[TensorClass]
    vocab_multiple: int


def rank_bytes(
    spec: ModelSpec,
    precision: str,
    placement: Placement,
    *,
    include: frozenset[TensorClass] = EVERYTHING,
    whole: frozenset[TensorClass] = frozenset(),
    vocab_multiple: int = 1,
) -> list[dict[TensorClass, int]]:
    """Bytes by class on the fullest rank of each pipeline stage, first to last; only classes in `include`.

    Embeddings and towers are on the first stage, final norm, output head and prediction layers on the last; a
    tied embedding is on both, once where they are one. Classes in `whole` are not divided: some engines have
    every rank hold all of them. vLLM pads the vocabulary to `vocab_multiple` 64.
    Raises ScenarioError for an unknown precision, PlacementError for more stages than layers.
    """
    held = inventory(spec, precision)
    key = (placement, whole, vocab_multiple)
    if key not in held.known:
        held.known[key] = _stages(held, placement, ranks_of(placement, whole, vocab_multiple))
    return [{kind: size for kind, size in stage.items() if kind in include} for stage in held.known[key]]


def ranks_of(placement: Placement, whole: frozenset[TensorClass], vocab_multiple: int) -> Ranks:
    """How a placement shares tensors out; see rank_bytes."""
    tensor = placement.tensor_parallel
    return Ranks(
        tensor=tensor,
        attention=placement.ranks_per_replica,
        expert=placement.expert_ranks,
        whole_experts=placement.expert_parallel,
        whole=whole,
        vocab_multiple=vocab_multiple,
    )


def _stages(held: Inventory, placement: Placement, ranks: Ranks) -> list[dict[TensorClass, int]]:
    sizes = stage_sizes(len(held.layer_kinds), placement.pipeline_parallel)
    kinds = [_part(part, ranks) for part in held.kinds]
    stages, start = [], 0
    for size in sizes:
        stage: dict[TensorClass, int] = {}
        for number, layers in Counter(held.layer_kinds[start : start + size]).items():
            add(stage, kinds[number], layers)
        stages.append(stage)
        start += size
    predicts = tuple(each for each in held.towers if each.tensor.kind is TensorClass.PREDICTION)
    beside = tuple(each for each in held.towers if each.tensor.kind is not TensorClass.PREDICTION)
    add(stages[0], _part((*held.first, *beside), ranks))
    add(stages[-1], _part((*held.last, *predicts, *(held.tied if len(stages) > 1 else ())), ranks))
    return stages


def _part(part: Part, ranks: Ranks) -> dict[TensorClass, int]:
    total: dict[TensorClass, int] = {}
    for each in part:
        kind = each.tensor.kind
        total[kind] = total.get(kind, 0) + tensor_bytes(each, ranks)
    return total


def tensor_bytes(each: Stored, ranks: Ranks) -> int:
    """Bytes of one inventory entry on the fullest rank."""
    tensor, packing = each.tensor, each.packing
    if tensor.kind not in ranks.whole:
        if tensor.shard is Shard.EXPERT:
            tensor = _expert_share(tensor, each.layers, ranks)
            packing = _refitted(packing, tensor)
        else:
            over = ranks.attention if tensor.kind in ATTENTION_PARTS else ranks.tensor
            tensor = replace(tensor, shape=_share(tensor, over, ranks.vocab_multiple))
    return packing.bytes_of(*matrix(tensor.shape)) * tensor.count


def _refitted(packing: Packing, tensor: Tensor) -> Packing:
    """Square blocks that a slice of an expert does not fill become smaller ones that it does (vLLM 0.33).

    A slice of 192 is stored in blocks of 64 × 64 and not of 128 × 128.
    """
    if packing.block_rows < 2 or packing.block_rows != packing.block_columns:
        return packing
    side = gcd(packing.block_rows, tensor.shape[-1] if is_down(tensor) else tensor.shape[0])
    return replace(packing, block_rows=side, block_columns=side)


def _share(tensor: Tensor, over: int, vocab_multiple: int) -> tuple[int, ...]:
    first, *between = tensor.shape
    match tensor.shard:
        case Shard.COLUMN:
            return (_units(first, tensor.units, over), *between)
        case Shard.ROW:
            *before, last = tensor.shape
            return (*before, _units(last, tensor.units, over))
        case Shard.VOCAB:
            return (divided(divided(first, vocab_multiple) * vocab_multiple, over), *between)
        case _:
            return tensor.shape


def _units(size: int, units: int, over: int) -> int:
    """Elements of the fullest rank; with fewer units than ranks each holds a copy of one."""
    return size // units * divided(units, over) if units else divided(size, over)


def _expert_share(tensor: Tensor, layers: int, ranks: Ranks) -> Tensor:
    """Whole experts, or a slice of each along the intermediate axis, which its last bias does not have."""
    if ranks.whole_experts:
        return replace(tensor, count=divided(tensor.count // layers, ranks.expert) * layers)
    *before, last = tensor.shape
    if not is_down(tensor):
        first, *rest = tensor.shape
        return replace(tensor, shape=(divided(first, ranks.expert), *rest))
    return replace(tensor, shape=(*before, divided(last, ranks.expert))) if before else tensor


def divided(size: int, over: int) -> int:
    """The larger share."""
    return -(-size // over)
