"""Which tensors a precision packs: the linear layers between the embeddings and the output head."""

from model_catalog.spec import Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass

LINEAR = frozenset(
    {
        TensorClass.ATTENTION,
        TensorClass.INDEXER,
        TensorClass.MIXER,
        TensorClass.FEED_FORWARD,
        TensorClass.SHARED_EXPERT,
        TensorClass.EXPERT,
        TensorClass.ENCODER,
        TensorClass.PREDICTION,
    }
)
# Prediction layers and encoders hold tensors of every kind under one class, so their names tell them apart.
# DeepSeek-V3 keeps eh_proj and Qwen3-Next fc out of its FP8 (model.safetensors.index.json).
MIXED = frozenset({TensorClass.PREDICTION, TensorClass.ENCODER})
NOT_LINEAR = (
    "embed",
    "position",
    "eh_proj",
    "shared_head",
    "lm_head",
    "norm",
    "conv",
    "router",
    "gate.weight",
    "fc.weight",
)
DOWN_NAMES = ("down_proj", ".w2.", ".fc2.", "output_linear")


def is_linear(tensor: Tensor) -> bool:
    """Whether quantisers pack this tensor at all."""
    if tensor.kind not in LINEAR or len(tensor.shape) != 2 or "weights_proj" in tensor.name:
        return False
    if tensor.kind not in MIXED:
        return True
    return tensor.name.endswith(".weight") and not any(part in tensor.name for part in NOT_LINEAR)


def is_expert(tensor: Tensor) -> bool:
    """Routed experts, those of prediction layers too."""
    if tensor.kind is TensorClass.PREDICTION:
        return tensor.shard is Shard.EXPERT and len(tensor.shape) == 2
    return tensor.kind is TensorClass.EXPERT


def has_experts(spec: ModelSpec) -> bool:
    return any(has_expert(run.layer) for run in spec.layers)


def has_expert(layer: Layer) -> bool:
    return any(tensor.kind is TensorClass.EXPERT for tensor in layer.tensors)


def is_down(tensor: Tensor) -> bool:
    """The projection of a feed-forward back to the hidden size; its input is the intermediate axis."""
    if tensor.kind in (TensorClass.FEED_FORWARD, TensorClass.SHARED_EXPERT) and len(tensor.shape) == 2:
        return tensor.shard is Shard.ROW
    return any(name in tensor.name for name in DOWN_NAMES)
