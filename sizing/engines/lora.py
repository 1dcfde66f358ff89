"""Adapter slots: so many × rank are set aside for every linear layer that adapters may change.

Sources: vllm/lora/layers; SGLang's srt/lora/mem_pool.py (A of rank × inputs, B of outputs × rank, for each slot).
"""

from collections.abc import Set

from model_catalog.spec import Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass
from sizing.placement import stages
from sizing.scenario import Scenario

HALF = 2


def lora_bytes(scenario: Scenario, spec: ModelSpec, adapted: Set[TensorClass], ranks: int) -> list[int]:
    """On one rank of each stage. The side that the layer is divided along is divided, the other whole."""
    if scenario.lora is None:
        return [0] * scenario.pipeline_parallel
    slots = HALF * scenario.lora.max_loras * scenario.lora.rank
    held = stages(spec, scenario.placement)
    return [slots * sum(_width(layer, adapted, ranks) for layer in stage) for stage in held]


def _width(layer: Layer, adapted: Set[TensorClass], ranks: int) -> int:
    changed = (t for t in layer.tensors if t.kind in adapted and len(t.shape) == 2)
    return sum(_sides(tensor, ranks) * tensor.count for tensor in changed)


def _sides(tensor: Tensor, ranks: int) -> int:
    """With fewer heads than ranks each rank has one of them whole."""
    parts = min(ranks, tensor.units) if tensor.units else ranks
    rows, columns = tensor.shape
    if tensor.shard is Shard.COLUMN:
        rows = -(-rows // parts)
    elif tensor.shard is Shard.ROW:
        columns = -(-columns // parts)
    return rows + columns
