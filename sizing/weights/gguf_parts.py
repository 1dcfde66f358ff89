"""What GGUF files tell apart by name, and how they cut up what checkpoints hold together."""

from dataclasses import replace
from enum import Enum, auto

from model_catalog.spec import LatentAttention, Layer
from model_catalog.tensors import Shard, Tensor, TensorClass
from sizing.weights.linears import is_down


class Part(Enum):
    """What the quantizer tells apart by name."""

    OUTPUT = auto()
    EMBEDDING = auto()
    VALUE = auto()
    KEY = auto()
    JOINED = auto()
    ATTENTION_OUTPUT = auto()
    DOWN = auto()
    OTHER = auto()


JOINED = ("qkv", "query_key_value", "c_attn", "W_pack", "Wqkv")
# Gated delta layers, whose query, key and value files join under the name attn_qkv; and Kimi Linear's values.
RECURRENT_VALUES = ("linear_attn.in_proj_q", "linear_attn.in_proj_k", "linear_attn.in_proj_v", ".v_proj.")
# Model types whose files join query, key and value however the checkpoint holds them.
JOINED_MODELS = frozenset(
    {
        "phi3",
        "gpt_neox",
        "falcon",
        "bloom",
        "mpt",
        "chatglm",
        "qwen",
        "gpt2",
        "gpt_bigcode",
        "dbrx",
        "persimmon",
        "codeshell",
    }
)


def part_of(tensor: Tensor) -> Part:
    match tensor.kind:
        case TensorClass.LM_HEAD:
            return Part.OUTPUT
        case TensorClass.EMBEDDING:
            return Part.EMBEDDING
        case TensorClass.ATTENTION | TensorClass.MIXER | TensorClass.INDEXER:
            return _attention_part(tensor)
        case _:
            return Part.DOWN if is_down(tensor) else Part.OTHER


def _attention_part(tensor: Tensor) -> Part:
    if tensor.kind is not TensorClass.ATTENTION:
        return Part.VALUE if any(name in tensor.name for name in RECURRENT_VALUES) else Part.OTHER
    if any(name in tensor.name for name in JOINED):
        return Part.JOINED
    if tensor.shard is Shard.ROW:
        return Part.ATTENTION_OUTPUT
    if ".v_proj." in tensor.name:
        return Part.VALUE
    return Part.KEY if ".k_proj." in tensor.name else Part.OTHER


def split_latent(layer: Layer) -> Layer:
    """A layer with kv_b_proj as GGUF files hold it: keys, transposed for each head, apart from values."""
    latent = next((mixer for mixer in layer.mixers if isinstance(mixer, LatentAttention)), None)
    if latent is None:
        return layer
    tensors = (part for tensor in layer.tensors for part in _split(tensor, latent))
    return replace(layer, tensors=tuple(tensors))


def _split(tensor: Tensor, mixer: LatentAttention) -> tuple[Tensor, ...]:
    if not tensor.name.endswith("kv_b_proj.weight"):
        return (tensor,)
    stem, heads, latent = tensor.name.removesuffix("kv_b_proj.weight"), mixer.heads, mixer.latent_dim
    return (
        replace(tensor, name=f"{stem}k_b_proj.weight", shape=(heads * latent, mixer.nope_dim)),
        replace(tensor, name=f"{stem}v_b_proj.weight", shape=(heads * mixer.value_dim, latent)),
    )
