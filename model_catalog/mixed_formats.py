"""Checkpoints whose layers are stored in several formats: which tensors have which, set on the tensors themselves."""

import re
from collections.abc import Callable
from dataclasses import replace

from model_catalog.fields import Fields
from model_catalog.quantization import quantization_part, quantized_layers
from model_catalog.spec import Layer, LayerRun, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass

LINEAR = frozenset(
    {
        TensorClass.LM_HEAD,
        TensorClass.ATTENTION,
        TensorClass.INDEXER,
        TensorClass.MIXER,
        TensorClass.FEED_FORWARD,
        TensorClass.SHARED_EXPERT,
        TensorClass.EXPERT,
        TensorClass.PREDICTION,
    }
)
# The first that a module's name holds says what the module is.
NAMED = (
    ("lm_head", TensorClass.LM_HEAD),
    ("shared_expert", TensorClass.SHARED_EXPERT),
    ("expert", TensorClass.EXPERT),
    ("index", TensorClass.INDEXER),
    ("linear_attn", TensorClass.MIXER),
    ("mixer", TensorClass.MIXER),
    ("attn", TensorClass.ATTENTION),
    ("mlp", TensorClass.FEED_FORWARD),
    ("feed_forward", TensorClass.FEED_FORWARD),
)
LEAF = re.compile(r"\w+$")
SMALL_GATES = ("in_proj_a", "in_proj_b", "in_proj_ba")  # gates of linear attention that no one quantises
Change = Callable[[Tensor], Tensor]


def with_own_formats(spec: ModelSpec, f: Fields) -> ModelSpec:
    """The spec with `dtype` set on the tensors that the config gives a format of their own."""
    expert_dtype = _expert_dtype(f)
    if expert_dtype:
        spec = _changed(spec, lambda tensor: replace(tensor, dtype=expert_dtype) if _routed(tensor) else tensor)
    q = quantization_part(f)
    if q is None:
        return spec
    formats = _formats(q)
    if not formats:
        return spec
    rest = None if q.raw("weight_block_size") is not None else spec.dtype
    return _changed(spec, lambda tensor: _stored(tensor, formats, rest))


def _expert_dtype(f: Fields) -> str | None:
    """DeepSeek-V4: experts in MXFP4 whatever the rest is in."""
    stated = f.text("expert_dtype")
    if not stated or stated == "fp8":
        return None
    if stated != "fp4":
        f.doubt(
            "expert_dtype", f'"{stated[:40]}" experts are not known here; they are counted like the rest.', kv=False
        )
        return None
    return "mxfp4"


def _formats(q: Fields) -> dict[TensorClass, str]:
    """The one format of each kind of layer."""
    found: dict[TensorClass, set[str]] = {}
    for name, method in quantized_layers(q):
        kind = next((kind for part, kind in NAMED if part in name), None)
        if kind is None:
            q.doubt("quantized_layers", "Some layers with a format of their own are not recognised.", kv=False)
        else:
            found.setdefault(kind, set()).add(method)
    if any(len(methods) > 1 for methods in found.values()):
        q.doubt(
            "quantized_layers", "Layers of one kind in several formats are counted as if all were in one.", kv=False
        )
    return {kind: sorted(methods)[0] for kind, methods in found.items()}


def _routed(tensor: Tensor) -> bool:
    """Routed experts' weights, those of prediction layers too."""
    if tensor.kind is TensorClass.PREDICTION:
        return tensor.shard is Shard.EXPERT and len(tensor.shape) == 2
    return tensor.kind is TensorClass.EXPERT


def _stored(tensor: Tensor, formats: dict[TensorClass, str], rest: str | None) -> Tensor:
    """What no format names stays as `rest`, or, for None, as the checkpoint's main format has it."""
    if tensor.kind not in LINEAR or len(tensor.shape) != 2:
        return tensor
    leaf = LEAF.search(tensor.name.removesuffix(".weight"))
    small = leaf is not None and leaf.group() in SMALL_GATES
    method = None if small else formats.get(tensor.kind)
    if method is None and rest is None:
        return tensor
    return replace(tensor, dtype=method or tensor.dtype or rest)


def _changed(spec: ModelSpec, change: Change) -> ModelSpec:
    return replace(
        spec,
        layers=tuple(LayerRun(run.count, _layer(run.layer, change)) for run in spec.layers),
        tensors=tuple(map(change, spec.tensors)),
        towers=tuple(replace(tower, tensors=tuple(map(change, tower.tensors))) for tower in spec.towers),
    )


def _layer(layer: Layer, change: Change) -> Layer:
    return replace(layer, tensors=tuple(map(change, layer.tensors)))
