"""Plain decoders: softmax attention and a feed-forward in every layer, told apart by a few traits.

Most model types differ only in biases, norms, windows and how experts are written down, so each is one row of a
table (families.py, legacy.py). Traits follow the classes of transformers 5.24.0
(models/<model_type>/modeling_<model_type>.py); the conformance test builds each type and compares parameter counts
and cache bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from model_catalog import layer_kinds as kinds
from model_catalog.blocks.attention import QkNorm, attention
from model_catalog.blocks.ends import ends, positions
from model_catalog.blocks.feed_forward import correction_bias, dense, experts, router
from model_catalog.blocks.linear import norm, small
from model_catalog.blocks.prediction import UNCOUNTED, deepseek_prediction
from model_catalog.fields import Fields
from model_catalog.importers.common import head_dim_of, kv_heads_of, max_context_of, tied_of
from model_catalog.importers.mixtures import Mixture, MixtureRule, Trait, holds
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec, Tower, run_length
from model_catalog.tensors import Tensor, TensorClass

PREDICTION_FIELDS = ("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers")


def stated_window(f: Fields) -> int:
    return f.whole("sliding_window")


def stated_intermediate(f: Fields) -> int:
    return f.whole("intermediate_size")


@dataclass(frozen=True, kw_only=True)
class Family:
    """What a plain model type does in its own way. Defaults are Llama's."""

    layer_kinds: kinds.Rule = kinds.all_full
    window: Callable[[Fields], int] = stated_window
    kv_heads: Callable[[Fields], int] = kv_heads_of
    head_dim: Callable[[Fields], int] = head_dim_of
    qkv_bias: Trait = "attention_bias"
    out_bias: Trait | None = None  # None: as qkv_bias
    qk_norm: QkNorm | Callable[[Fields], QkNorm] = "none"
    qk_norm_bias: bool = False
    gated: bool = True
    mlp_bias: Trait = False
    intermediate: Callable[[Fields], int] = stated_intermediate
    norms: int | Callable[[Fields], int] = 2  # norms of hidden size per layer
    norm_bias: Trait = False
    final_norm: bool | Callable[[Fields], bool] = True
    head_bias: Trait = False
    tied: Trait = "tie_word_embeddings"
    sinks: bool = False  # one learned attention sink per head
    position_rows: Callable[[Fields], int] | None = None
    mixture: MixtureRule | None = None
    own_attention: Callable[[Fields, Attention], tuple[Tensor, ...]] | None = None  # in place of q, k, v, o
    beside: Callable[[Fields, Attention], tuple[Tensor, ...]] | None = None  # further tensors of each layer
    outside: Callable[[Fields], tuple[Tensor, ...]] | None = None  # further tensors of the model
    prediction: bool | None = None  # prediction layers are DeepSeek-V3's: with (True) or without own ends (False)


def read_plain(f: Fields, family: Family) -> ModelSpec:
    """ModelSpec of a plain decoder."""
    hidden, layers = f.whole("hidden_size"), f.layer_count()
    tied = tied_of(f, family.tied)
    each = [_layer(f, family, index, kind) for index, kind in enumerate(family.layer_kinds(f, layers))]
    if f.raw("per_layer_config"):
        f.doubt("per_layer_config", "per_layer_config changes single layers; it is not heeded.")
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length(each),
        hidden_size=hidden,
        vocab_size=f.whole("vocab_size"),
        max_context=max_context_of(f),
        dtype="bf16",
        tied_embeddings=tied,
        tensors=_outside(f, family, tied),
        towers=_prediction(f, family, each[-1]),
    )


def _outside(f: Fields, family: Family, tied: bool) -> tuple[Tensor, ...]:
    hidden = f.whole("hidden_size")
    rows = family.position_rows(f) if family.position_rows else 0
    return (
        *ends(
            f.whole("vocab_size"),
            hidden,
            tied=tied,
            norm_bias=holds(f, family.norm_bias),
            final_norm=family.final_norm(f) if callable(family.final_norm) else family.final_norm,
            head_bias=holds(f, family.head_bias),
        ),
        *(positions(rows, hidden) if rows else ()),
        *(family.outside(f) if family.outside else ()),
    )


def _prediction(f: Fields, family: Family, last: Layer) -> tuple[Tower, ...]:
    """Multi-token prediction layers, where the config itself says that the checkpoint has them."""
    for name in PREDICTION_FIELDS:
        count = (f.whole_or_none(name, maximum=64) or 0) if f.has(name) else 0
        if count and family.prediction is None:
            f.doubt(name, UNCOUNTED, kv=False)
        elif count:
            hidden, vocab = f.whole("hidden_size"), f.whole("vocab_size")
            ends = bool(family.prediction)
            return deepseek_prediction(last.tensors, hidden, vocab, count, own_embedding=ends, own_head=ends)
    return ()


def _layer(f: Fields, family: Family, index: int, kind: str) -> Layer:
    mixer = attention_of(f, kind, family)
    mixture = family.mixture(f, index) if family.mixture else None
    feed_forward, weights = _mixture(f, mixture) if mixture else _dense(f, family)
    beside = family.beside(f, mixer) if family.beside else ()
    return Layer(
        mixers=(mixer,),
        feed_forward=feed_forward,
        tensors=(*_attention_tensors(f, family, mixer), *weights, *_norms(f, family), *beside),
    )


def attention_of(f: Fields, kind: str, family: Family | None = None) -> Attention:
    """Attention dimensions of a layer; a kind that is not understood is counted as full and doubted."""
    family = family or Family()
    head_dim = family.head_dim(f)
    if kind not in (kinds.FULL, kinds.SLIDING, kinds.CHUNKED):
        f.doubt("layer_types", f'"{kind[:40]}" layers are not understood; they are counted as full attention.')
    return Attention(
        heads=f.whole("num_attention_heads"),
        kv_heads=family.kv_heads(f),
        head_dim=head_dim,
        value_dim=head_dim,
        window=family.window(f) if kind == kinds.SLIDING else None,
        chunk=f.whole("attention_chunk_size") if kind == kinds.CHUNKED else None,
    )


def _attention_tensors(f: Fields, family: Family, mixer: Attention) -> tuple[Tensor, ...]:
    if family.own_attention:
        return family.own_attention(f, mixer)
    qkv_bias = holds(f, family.qkv_bias)
    weights = attention(
        mixer,
        f.whole("hidden_size"),
        qkv_bias=qkv_bias,
        out_bias=qkv_bias if family.out_bias is None else holds(f, family.out_bias),
        qk_norm=family.qk_norm(f) if callable(family.qk_norm) else family.qk_norm,
        qk_norm_bias=family.qk_norm_bias,
    )
    return (*weights, *(small("self_attn.sinks", mixer.heads) if family.sinks else ()))


def _norms(f: Fields, family: Family) -> tuple[Tensor, ...]:
    bias = holds(f, family.norm_bias)
    count = family.norms(f) if callable(family.norms) else family.norms
    each = [norm(f"norm_{i}", f.whole("hidden_size"), bias=bias) for i in range(count)]
    return tuple(tensor for pair in each for tensor in pair)


def _dense(f: Fields, family: Family) -> tuple[FeedForward, tuple[Tensor, ...]]:
    size = family.intermediate(f)
    weights = dense(f.whole("hidden_size"), size, gated=family.gated, bias=holds(f, family.mlp_bias))
    return FeedForward(intermediate=size), weights


def _mixture(f: Fields, mixture: Mixture) -> tuple[FeedForward, tuple[Tensor, ...]]:
    hidden, shared = f.whole("hidden_size"), mixture.shared_intermediate
    kind = TensorClass.SHARED_EXPERT
    bias = mixture.shared_bias
    weights = (
        *router(hidden, mixture.experts, bias=mixture.router_bias),
        *(correction_bias(mixture.experts) if mixture.correction else ()),
        *experts(mixture.expert_hidden or hidden, mixture.intermediate, mixture.experts, bias=mixture.expert_bias),
        *(dense(hidden, shared, prefix="mlp.shared_expert", kind=kind, bias=bias) if shared else ()),
        *(router(hidden, 1, prefix="mlp.shared_expert_gate") if shared and mixture.shared_gate else ()),
        *mixture.beside,
    )
    return (
        FeedForward(
            intermediate=mixture.intermediate,
            experts=mixture.experts,
            top_k=mixture.top_k,
            shared_intermediate=shared,
        ),
        weights,
    )


def readers(families: dict[str, Family]) -> dict[str, Callable[[Fields], ModelSpec]]:
    """A reader for each row of a table of families."""
    return {model_type: partial(read_plain, family=family) for model_type, family in families.items()}
