"""A file's tensors in place of those that its architecture would have: each with the ggml type it is stored in."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from model_catalog.gguf.header import FileTensor
from model_catalog.gguf.tensor_names import Named, named_in_layer, named_outside
from model_catalog.spec import Attention, LatentAttention, Layer, ModelSpec, Recurrent, Tower, run_length
from model_catalog.tensors import Shard, Tensor, TensorClass

IN_LAYER = re.compile(r"blk\.(\d{1,4})\.(.+)", re.ASCII)
PARTS = re.compile(r"(?P<stem>.*?)(?P<ending>\.(?:weight|bias|scale|input_scale))?", re.ASCII)
ONE_EXPERT = re.compile(r"(ffn_(?:gate|up|down))\.\d+", re.ASCII)  # Mixtral, before its experts were joined
PLAIN = frozenset({"f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"})


@dataclass(frozen=True, slots=True)
class Sizes:
    """Heads of a layer's attention and the lengths of its vectors. `recurrent`: it has a state and no attention."""

    heads: int = 0
    kv_heads: int = 0
    key: int = 0
    value: int = 0
    recurrent: bool = False


def with_tensors(spec: ModelSpec, tensors: Iterable[FileTensor]) -> ModelSpec:
    """The spec with the file's tensors; layers beyond the decoder's are prediction layers."""
    in_layers: defaultdict[int, list[FileTensor]] = defaultdict(list)
    outside: list[FileTensor] = []
    for tensor in tensors:
        found = IN_LAYER.fullmatch(tensor.name)
        if found:
            in_layers[int(found[1])].append(replace(tensor, name=found[2]))
        else:
            outside.append(tensor)
    layers = [
        replace(layer, tensors=_layer(in_layers.pop(index, ()), _sizes(layer)))
        for index, layer in enumerate(spec.each_layer())
    ]
    return replace(
        spec,
        layers=run_length(layers),
        tensors=tuple(_tensor(tensor, _outside(tensor), Sizes()) for tensor in outside),
        towers=_prediction(in_layers.values(), _sizes(layers[-1])),
    )


def _sizes(layer: Layer) -> Sizes:
    for mixer in layer.mixers:
        if isinstance(mixer, Attention):
            return Sizes(mixer.heads, mixer.kv_heads, mixer.head_dim, mixer.value_dim)
        if isinstance(mixer, LatentAttention):
            return Sizes(mixer.heads)
    return Sizes(recurrent=any(isinstance(mixer, Recurrent) for mixer in layer.mixers))


def _layer(tensors: Iterable[FileTensor], sizes: Sizes) -> tuple[Tensor, ...]:
    return tuple(part for tensor in tensors for part in _parts(tensor, sizes))


def _parts(tensor: FileTensor, sizes: Sizes) -> tuple[Tensor, ...]:
    """One tensor; three of a joined projection, which tensor parallelism divides each by its own heads."""
    rows = (sizes.heads * sizes.key, sizes.kv_heads * sizes.key, sizes.kv_heads * sizes.value)
    stem, ending = _split(tensor.name)
    if stem == "attn_qkv" and sizes.heads and sum(rows) == tensor.shape[0]:
        names = (f"{part}{ending}" for part in ("attn_q", "attn_k", "attn_v"))
        parts = (
            replace(tensor, name=name, shape=(count, *tensor.shape[1:]))
            for name, count in zip(names, rows, strict=True)
        )
        return tuple(_tensor(part, _in_layer(part, sizes), sizes) for part in parts)
    return (_tensor(tensor, _in_layer(tensor, sizes), sizes),)


def _split(name: str) -> tuple[str, str]:
    found = PARTS.fullmatch(name)
    return (found["stem"], found["ending"] or "") if found else (name, "")


def _in_layer(tensor: FileTensor, sizes: Sizes) -> Named:
    stem = _split(tensor.name)[0]
    one = ONE_EXPERT.fullmatch(stem)
    return named_in_layer(f"{one[1]}_exps" if one else stem, recurrent=sizes.recurrent)


def _outside(tensor: FileTensor) -> Named:
    return named_outside(_split(tensor.name)[0])


def _tensor(tensor: FileTensor, named: Named, sizes: Sizes) -> Tensor:
    """`named` applied to a weight or to what belongs to it (bias, scale)."""
    ending = _split(tensor.name)[1]
    name = f"{named.name}{ending}"
    if named.shard is Shard.EXPERT:
        return _expert(tensor, named, name)
    units = {"heads": sizes.heads, "kv_heads": sizes.kv_heads, "": 0}[named.units]
    kind, shard, shape = named.kind, named.shard, _matrix(tensor)
    if len(shape) == 1 or ending not in ("", ".weight"):
        kind = TensorClass.NORM if "norm" in name else TensorClass.SMALL
        by_rows = shard in (Shard.COLUMN, Shard.VOCAB) and "scale" not in ending
        shard = shard if by_rows else Shard.REPLICATED
    if units and shape[0 if shard is Shard.COLUMN else -1] % units:
        units = 0
    return Tensor(name, kind, shape, shard, units=units, dtype=tensor.dtype)


def _expert(tensor: FileTensor, named: Named, name: str) -> Tensor:
    """The first axis counts the experts, but in files with a tensor for each."""
    single = ONE_EXPERT.fullmatch(_split(tensor.name)[0]) is not None
    count, shape = (1, tensor.shape) if single or len(tensor.shape) < 2 else (tensor.shape[0], tensor.shape[1:])
    weight = len(shape) > 1
    shard = Shard.EXPERT if weight or count > 1 else Shard.REPLICATED
    return Tensor(name, named.kind if weight else TensorClass.SMALL, shape, shard, count, dtype=tensor.dtype)


def _matrix(tensor: FileTensor) -> tuple[int, ...]:
    """Rows and columns, the rows of all heads together; vectors as they are, but for quantised ones, which are rows."""
    *before, last = tensor.shape
    return (last,) if not before and tensor.dtype in PLAIN else (prod(before), last)


def _prediction(layers: Iterable[Iterable[FileTensor]], sizes: Sizes) -> tuple[Tower, ...]:
    each = [_layer(tensors, sizes) for tensors in layers]
    if not each:
        return ()
    tensors = (replace(t, kind=TensorClass.PREDICTION) for layer in each for t in layer)
    return (Tower(name="multi-token prediction", tensors=tuple(tensors), layers=1),)
