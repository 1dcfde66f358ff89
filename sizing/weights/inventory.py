"""Every tensor of a model with the way one precision stores it; equal layers once."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from model_catalog.spec import LayerRun, ModelSpec, Tower
from model_catalog.tensors import Shard, Tensor, TensorClass
from sizing.weights.checkpoint import Rule, checkpoint_rule
from sizing.weights.gguf import gguf_rule
from sizing.weights.gguf_parts import split_latent
from sizing.weights.packing import Packing
from sizing.weights.precisions import GGUF, resolve_precision

MOST_KEPT = 256
BEFORE_LAYERS = ("embed", "per_layer", "altup_projections")  # names of what the first stage needs


@dataclass(frozen=True, slots=True)
class Stored:
    """`tensor` and how it is stored. Its count stands for `layers` layers (prediction towers)."""

    tensor: Tensor
    packing: Packing
    layers: int = 1


Part = tuple[Stored, ...]


@dataclass(slots=True)
class Inventory:
    """`kinds` are the distinct layers, `layer_kinds` the number of each layer's kind, first layer to last.

    `first` and `last` stand before and after the layers; `tied` is the embedding that is the output head too.
    `known` keeps what was computed from this inventory.
    """

    kinds: tuple[Part, ...]
    layer_kinds: tuple[int, ...]
    first: Part
    last: Part
    tied: Part
    towers: Part
    known: dict[Any, Any] = field(default_factory=dict)


_KEPT: OrderedDict[tuple[int, str], tuple[ModelSpec, Inventory]] = OrderedDict()


def inventory(spec: ModelSpec, precision: str) -> Inventory:
    """The inventory of a model in a precision, kept by the spec's identity: comparing specs would be slow."""
    key = (id(spec), precision)
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec:
        _KEPT.move_to_end(key)
        return kept[1]
    built = _build(spec, resolve_precision(precision, spec).name)
    _KEPT[key] = (spec, built)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return built


def _build(spec: ModelSpec, precision: str) -> Inventory:
    if precision in GGUF:
        spec, rule = _split(spec), gguf_rule(spec, precision)
    else:
        rule = checkpoint_rule(spec, precision)
    kinds, layer_kinds = _layers(spec.layers, rule)
    first = [tensor for tensor in spec.tensors if any(part in tensor.name for part in BEFORE_LAYERS)]
    return Inventory(
        kinds=kinds,
        layer_kinds=layer_kinds,
        first=_stored(first, rule),
        last=_stored((tensor for tensor in spec.tensors if tensor not in first), rule),
        tied=_stored((t for t in first if is_token_embedding(t, spec)), rule) if spec.tied_embeddings else (),
        towers=tuple(each for tower in spec.towers for each in _tower(tower, spec.num_layers, rule)),
    )


def _tower(tower: Tower, layers: int, rule: Rule) -> Part:
    """Prediction layers are numbered on from the decoder's."""
    return tuple(
        Stored(t, rule(t, layers), max(tower.layers, 1)) if _predicts(t) else Stored(t, rule(t, None))
        for t in tower.tensors
    )


def _layers(runs: tuple[LayerRun, ...], rule: Rule) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """Layers are of one kind where they are one object and all their tensors are stored alike."""
    kinds: dict[tuple[int, ...], Part] = {}
    keys: list[tuple[int, ...]] = []
    for run in runs:
        for _ in range(run.count):
            stored = _stored(run.layer.tensors, rule, len(keys))
            key = (id(run.layer), *(id(each.packing) for each in stored))
            kinds.setdefault(key, stored)
            keys.append(key)
    numbers = {key: number for number, key in enumerate(kinds)}
    return tuple(kinds.values()), tuple(numbers[key] for key in keys)


def _stored(tensors: Iterable[Tensor], rule: Rule, layer: int | None = None) -> Part:
    return tuple(Stored(tensor, rule(tensor, layer)) for tensor in tensors)


def _split(spec: ModelSpec) -> ModelSpec:
    return replace(spec, layers=tuple(LayerRun(run.count, split_latent(run.layer)) for run in spec.layers))


def _predicts(tensor: Tensor) -> bool:
    return tensor.kind is TensorClass.PREDICTION


def is_token_embedding(tensor: Tensor, spec: ModelSpec) -> bool:
    table = tensor.kind is TensorClass.EMBEDDING and tensor.shard is Shard.VOCAB
    return table and tensor.shape[0] >= spec.vocab_size
