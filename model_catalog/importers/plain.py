"""Plain decoders: softmax attention and a feed-forward in every layer, told apart by a few traits.

Most model types differ only in biases, norms, windows and how experts are written down, so each is one row of
FAMILIES. Traits follow the classes of transformers 5.24.0 (models/<model_type>/modeling_<model_type>.py); the
conformance test builds each type and compares parameter counts and cache bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass

from model_catalog import layer_kinds as kinds
from model_catalog.blocks.attention import QkNorm, attention
from model_catalog.blocks.ends import ends, positions
from model_catalog.blocks.feed_forward import correction_bias, dense, experts, router
from model_catalog.blocks.linear import norm, small
from model_catalog.fields import Fields
from model_catalog.importers.common import head_dim_of, max_context_of, tied_of
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec, run_length
from model_catalog.tensors import Tensor, TensorClass

Trait = bool | str  # fixed by the class, or the name of the config field that says so


@dataclass(frozen=True, kw_only=True)
class Family:
    """What a plain model type does in its own way. Defaults are Llama's."""

    layer_kinds: kinds.Rule = kinds.all_full
    qkv_bias: Trait = "attention_bias"
    out_bias: Trait | None = None  # None: as qkv_bias
    qk_norm: QkNorm | Callable[[Fields], QkNorm] = "none"
    gated: bool = True
    mlp_bias: Trait = "mlp_bias"
    norms: int = 2  # norms of hidden size per layer
    norm_bias: Trait = False
    final_norm: bool = True
    head_bias: Trait = False
    tied: Trait = "tie_word_embeddings"
    sinks: bool = False  # one learned attention sink per head
    position_rows: Callable[[Fields], int] | None = None
    mixture: "Callable[[Fields, int], Mixture | None] | None" = None


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The experts of one layer."""

    experts: int
    top_k: int
    intermediate: int
    shared_intermediate: int = 0
    shared_gate: bool = False
    correction: bool = False
    router_bias: bool = False
    expert_bias: bool = False


def _holds(f: Fields, trait: Trait) -> bool:
    return f.flag(trait) if isinstance(trait, str) else trait


def read_plain(f: Fields, family: Family) -> ModelSpec:
    """ModelSpec of a plain decoder."""
    hidden, layers = f.whole("hidden_size"), f.layer_count()
    vocab, tied = f.whole("vocab_size"), tied_of(f, family.tied)
    rows = family.position_rows(f) if family.position_rows else 0
    outside = ends(
        vocab,
        hidden,
        tied=tied,
        norm_bias=_holds(f, family.norm_bias),
        final_norm=family.final_norm,
        head_bias=_holds(f, family.head_bias),
    )
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([_layer(f, family, i, kind) for i, kind in enumerate(family.layer_kinds(f, layers))]),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(f),
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(*outside, *(positions(rows, hidden) if rows else ())),
    )


def _layer(f: Fields, family: Family, index: int, kind: str) -> Layer:
    mixer = attention_of(f, kind)
    mixture = family.mixture(f, index) if family.mixture else None
    feed_forward, weights = _mixture(f, mixture) if mixture else _dense(f, family)
    return Layer(
        mixers=(mixer,),
        feed_forward=feed_forward,
        tensors=(*_attention_tensors(f, family, mixer), *weights, *_norms(f, family)),
    )


def attention_of(f: Fields, kind: str) -> Attention:
    """Attention dimensions of a layer; a kind that is not understood is counted as full and doubted."""
    heads, head_dim = f.whole("num_attention_heads"), head_dim_of(f)
    if kind not in (kinds.FULL, kinds.SLIDING, kinds.CHUNKED):
        f.doubt("layer_types", f'"{kind}" layers are not understood; they are counted as full attention.')
    return Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads", heads),
        head_dim=head_dim,
        value_dim=head_dim,
        window=f.whole("sliding_window") if kind == kinds.SLIDING else None,
        chunk=f.whole("attention_chunk_size") if kind == kinds.CHUNKED else None,
    )


def _attention_tensors(f: Fields, family: Family, mixer: Attention) -> tuple[Tensor, ...]:
    qkv_bias = _holds(f, family.qkv_bias)
    qk_norm = family.qk_norm(f) if callable(family.qk_norm) else family.qk_norm
    weights = attention(
        mixer,
        f.whole("hidden_size"),
        qkv_bias=qkv_bias,
        out_bias=qkv_bias if family.out_bias is None else _holds(f, family.out_bias),
        qk_norm=qk_norm,
    )
    return (*weights, *(small("self_attn.sinks", mixer.heads) if family.sinks else ()))


def _norms(f: Fields, family: Family) -> tuple[Tensor, ...]:
    bias = _holds(f, family.norm_bias)
    each = [norm(f"norm_{i}", f.whole("hidden_size"), bias=bias) for i in range(family.norms)]
    return tuple(tensor for pair in each for tensor in pair)


def _dense(f: Fields, family: Family) -> tuple[FeedForward, tuple[Tensor, ...]]:
    size = f.whole("intermediate_size")
    weights = dense(f.whole("hidden_size"), size, gated=family.gated, bias=_holds(f, family.mlp_bias))
    return FeedForward(intermediate=size), weights


def _mixture(f: Fields, mixture: Mixture) -> tuple[FeedForward, tuple[Tensor, ...]]:
    hidden, shared = f.whole("hidden_size"), mixture.shared_intermediate
    kind = TensorClass.SHARED_EXPERT
    weights = (
        *router(hidden, mixture.experts, bias=mixture.router_bias),
        *(correction_bias(mixture.experts) if mixture.correction else ()),
        *experts(hidden, mixture.intermediate, mixture.experts, bias=mixture.expert_bias),
        *(dense(hidden, shared, prefix="mlp.shared_expert", kind=kind) if shared else ()),
        *(router(hidden, 1, prefix="mlp.shared_expert_gate") if shared and mixture.shared_gate else ()),
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


def mixtral_experts(f: Fields, index: int) -> Mixture:
    return Mixture(
        experts=f.whole("num_local_experts"),
        top_k=f.whole("num_experts_per_tok"),
        intermediate=f.whole("intermediate_size"),
    )


def qwen_moe_experts(f: Fields, index: int) -> Mixture | None:
    """Qwen MoE: sparse every decoder_sparse_step layers, but for mlp_only_layers."""
    sparse = (index + 1) % f.whole("decoder_sparse_step", 1) == 0
    experts_count = f.whole("num_experts", minimum=0)
    if not sparse or not experts_count or index in (f.items("mlp_only_layers", int) or ()):
        return None
    return Mixture(
        experts=experts_count,
        top_k=f.whole("num_experts_per_tok"),
        intermediate=f.whole("moe_intermediate_size"),
        shared_intermediate=f.whole("shared_expert_intermediate_size", 0, minimum=0),
        shared_gate=True,
    )


QWEN_WINDOW = kinds.stated_or(kinds.sliding_after_max_window_layers)

FAMILIES: dict[str, Family] = {
    "llama": Family(),
    "mistral": Family(layer_kinds=kinds.all_sliding, qkv_bias=False, mlp_bias=False),
    "mixtral": Family(layer_kinds=kinds.all_sliding, qkv_bias=False, mixture=mixtral_experts),
    "qwen2": Family(layer_kinds=QWEN_WINDOW, qkv_bias=True, out_bias=False, mlp_bias=False),
    "qwen3": Family(layer_kinds=QWEN_WINDOW, qk_norm="head", mlp_bias=False),
    "qwen3_moe": Family(layer_kinds=kinds.sliding_if_used, qk_norm="head", mlp_bias=False, mixture=qwen_moe_experts),
    "gemma": Family(mlp_bias=False),
    "gemma2": Family(layer_kinds=kinds.stated_or(kinds.one_full_in(2)), mlp_bias=False, norms=4),
    "gemma3_text": Family(
        layer_kinds=kinds.stated_or(kinds.one_full_in(6)), mlp_bias=False, norms=4, qk_norm="head"
    ),
}
READERS = {
    model_type: lambda f, family=family: read_plain(f, family) for model_type, family in FAMILIES.items()
}
