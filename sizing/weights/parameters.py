"""Numbers of parameters, whatever the precision."""

from collections.abc import Iterator
from fractions import Fraction

from model_catalog.spec import FeedForward, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass


def parameters_by_class(spec: ModelSpec) -> dict[TensorClass, int]:
    """Elements of every tensor of the checkpoint; a tied head is not counted twice."""
    total: dict[TensorClass, int] = {}
    for tensor, times in _each(spec):
        total[tensor.kind] = total.get(tensor.kind, 0) + tensor.elements * times
    return total


def parameters(spec: ModelSpec) -> int:
    """Parameters of the model and its towers, without prediction layers."""
    return sum(size for kind, size in parameters_by_class(spec).items() if kind is not TensorClass.PREDICTION)


def active_parameters(spec: ModelSpec) -> int:
    """Parameters that one decoded token goes through: of the experts its top_k; no embedding row, no tower.

    A tied embedding counts, for it is the output head.
    """
    layers = sum(run.count * _active(run.layer) for run in spec.layers)
    used = (t for t in spec.tensors if t.kind is not TensorClass.EMBEDDING or _is_head(t, spec))
    return layers + sum(t.elements for t in used)


def _active(layer: Layer) -> int:
    share = _expert_share(layer.feed_forward)
    whole = sum(t.elements for t in layer.tensors if t.shard is not Shard.EXPERT)
    return whole + int(sum(t.elements * share for t in layer.tensors if t.shard is Shard.EXPERT))


def _expert_share(part: FeedForward | None) -> Fraction:
    return Fraction(part.top_k, part.experts) if part and part.experts else Fraction(1)


def _is_head(tensor: Tensor, spec: ModelSpec) -> bool:
    return spec.tied_embeddings and tensor.shape[0] >= spec.vocab_size


def _each(spec: ModelSpec) -> Iterator[tuple[Tensor, int]]:
    for run in spec.layers:
        for tensor in run.layer.tensors:
            yield tensor, run.count
    for tensor in spec.tensors:
        yield tensor, 1
    for tower in spec.towers:
        for tensor in tower.tensors:
            yield tensor, 1
