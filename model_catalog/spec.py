"""ModelSpec: an immutable description of a checkpoint's architecture.

A model is a run-length list of layers. Each layer has mixers (attention of some kind, recurrent state, or none),
a feed-forward, and the tensors that hold them. Mixers say what a sequence leaves behind in memory; tensors say
what the weights take. Both come from one reading of the config (see importers).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from model_catalog.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """The key that sparse attention keeps per token to choose what to attend to (DeepSeek-V3.2 and later).

    `pool` tokens share one key. A layer that reuses another layer's choice has no Indexer. `key_dtype` is set where
    the model keeps the keys in a format of its own (dots 3: fp32).
    """

    head_dim: int
    heads: int
    top_k: int
    pool: int = 1
    key_heads: int = 1
    key_dtype: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Softmax attention with a key and a value vector per KV head and token.

    `window`: a token sees itself and window − 1 older ones. `chunk`: a token sees its own chunk only (Llama 4).
    `reuses_cache`: the layer reads another layer's keys and values and stores none.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int | None = None
    chunk: int | None = None
    reuses_cache: bool = False
    indexer: Indexer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Multi-head latent attention (MLA): one compressed latent and one rotary key per token, no value.

    `reuses_cache`: the layer reads another layer's latents and stores none; an indexer of its own still stores keys.
    """

    heads: int
    latent_dim: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    window: int | None = None
    reuses_cache: bool = False
    indexer: Indexer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedAttention:
    """DeepSeek-V4 attention: raw entries in a window, and one compressed entry for every `ratio` tokens.

    `ratio` 0 means window only. Keys and values are one vector of `head_dim`, of which `rope_dim` is rotated.
    """

    heads: int
    head_dim: int
    rope_dim: int
    window: int
    ratio: int
    indexer: Indexer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """Attention over an encoder's output: keys and values of `source_tokens` tokens, fixed per sequence."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    source_tokens: int


RecurrentKind = Literal[
    "mamba1", "mamba2", "gated_delta", "kda", "lightning", "short_conv", "past_inputs", "cca", "rwkv", "xlstm", "rg_lru"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrent:
    """A state of fixed size per sequence, however long the sequence is.

    conv: `conv_channels` channels of the last `conv_kernel` − 1 inputs. Of the channels, `groups` × `group_width`
    belong to groups that tensor parallelism may have to replicate (Mamba 2's B and C).
    recurrent: `state_elements` numbers, divided over `heads` heads; 0 where nothing is divided by head.
    `conv_dtype` is set where the model keeps its inputs in a format of its own (Inkling: fp32), `state_dtype` where the
    config asks for one (mamba_ssm_cache_dtype); None leaves it to the engine.
    """

    kind: RecurrentKind
    heads: int
    state_elements: int
    conv_channels: int = 0
    conv_kernel: int = 1
    groups: int = 0
    group_width: int = 0
    conv_dtype: str | None = None
    state_dtype: str | None = None


Mixer = Attention | LatentAttention | CompressedAttention | CrossAttention | Recurrent


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward:
    """Dense where `experts` is 0; else a mixture: each token goes through `top_k` experts and the shared part."""

    intermediate: int
    experts: int = 0
    top_k: int = 0
    shared_intermediate: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One decoder layer. Several mixers run side by side in it (Falcon-H1: attention and Mamba)."""

    mixers: tuple[Mixer, ...] = ()
    feed_forward: FeedForward | None = None
    tensors: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerRun:
    """`count` equal layers in a row."""

    count: int
    layer: Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """A part beside the decoder: vision or audio encoder, projector, text encoder, multi-token prediction."""

    name: str
    tensors: tuple[Tensor, ...]
    layers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """How the checkpoint says its weights are stored (the config's quantization_config), in our terms.

    `method` is a precision of sizing.precisions. `skipped` are the module names or patterns kept in `dtype`.
    `kv_cache` is the cache format that the checkpoint pins, if any.
    """

    method: str
    skipped: tuple[str, ...] = ()
    group_size: int = 0
    kv_cache: str | None = None


@dataclass(frozen=True, slots=True)
class Rope:
    """One rotary embedding, as far as a table of its cosines and sines goes: `positions` rows of `dim` numbers."""

    positions: int
    dim: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something a reader did not understand or had to assume: which config field, what was done about it."""

    config_field: str
    message: str
    touches_kv: bool = True
    touches_weights: bool = True


# How a checkpoint that is no model by itself drafts for one.
DraftKind = Literal["eagle", "eagle3", "dflash", "dspark", "medusa", "mlp_speculator", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A checkpoint's architecture. `tensors` are those outside the layers and towers (embeddings, head, norms).

    `pools`: the checkpoint is published to give embeddings and not text.
    `draft_kind`: the checkpoint only drafts for another one. `draft`: the other checkpoint that drafts for this one.
    """

    model_type: str
    layers: tuple[LayerRun, ...]
    hidden_size: int
    vocab_size: int
    max_context: int | None
    dtype: str
    tied_embeddings: bool
    tensors: tuple[Tensor, ...]
    towers: tuple[Tower, ...] = ()
    quantization: Quantization | None = None
    ropes: tuple[Rope, ...] = ()
    pools: bool = False
    doubts: tuple[Doubt, ...] = field(default=())
    draft_kind: DraftKind | None = None
    draft: "ModelSpec | None" = None

    def __hash__(self) -> int:
        """Cheap, so that a spec may be a cache's key: looking up the same object never walks its layers.

        Builds of one model in other formats, lengths or readings differ in it, else each look-up would compare them.
        """
        packed = None if self.quantization is None else self.quantization.method
        shape = (self.model_type, self.hidden_size, self.vocab_size, len(self.layers), self.dtype)
        return hash((*shape, self.max_context, packed, len(self.towers), len(self.doubts)))

    @property
    def num_layers(self) -> int:
        return sum(run.count for run in self.layers)

    def each_layer(self) -> Iterator[Layer]:
        """The layers one by one, first to last."""
        for run in self.layers:
            for _ in range(run.count):
                yield run.layer

    def mixers(self) -> Iterator[Mixer]:
        """The mixers of all layers, first to last; of a run of equal layers once."""
        for run in self.layers:
            yield from run.layer.mixers

    @property
    def is_mixture(self) -> bool:
        """Whether any layer has routed experts."""
        return any(run.layer.feed_forward is not None and run.layer.feed_forward.experts > 0 for run in self.layers)

    def has(self, *kinds: type[Mixer]) -> bool:
        """Whether any layer has a mixer of one of these kinds."""
        return any(isinstance(mixer, kinds) for mixer in self.mixers())


def run_length(layers: list[Layer]) -> tuple[LayerRun, ...]:
    """Consecutive equal layers as runs."""
    return tuple(LayerRun(len(list(same)), layer) for layer, same in groupby(layers))
