"""Adapter slots: vLLM sets aside max_loras × rank for every linear layer (vllm/lora/layers)."""

from model_catalog.spec import Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass
from sizing.placement import stages
from sizing.scenario import Scenario

HALF = 2
ADAPTED = frozenset({TensorClass.ATTENTION, TensorClass.MIXER, TensorClass.FEED_FORWARD, TensorClass.SHARED_EXPERT})


def lora_bytes(scenario: Scenario, spec: ModelSpec) -> list[int]:
    """On one rank of each stage. The side that the layer is divided along is divided, the other whole."""
    if scenario.lora is None:
        return [0] * scenario.pipeline_parallel
    slots = HALF * scenario.lora.max_loras * scenario.lora.rank
    held = stages(spec, scenario.placement)
    return [slots * sum(_width(layer, scenario.tensor_parallel) for layer in stage) for stage in held]


def _width(layer: Layer, ranks: int) -> int:
    adapted = (t for t in layer.tensors if t.kind in ADAPTED and len(t.shape) == 2)
    return sum(_sides(tensor, ranks) * tensor.count for tensor in adapted)


def _sides(tensor: Tensor, ranks: int) -> int:
    rows, columns = tensor.shape
    if tensor.shard is Shard.COLUMN:
        rows = -(-rows // ranks)
    elif tensor.shard is Shard.ROW:
        columns = -(-columns // ranks)
    return rows + columns
