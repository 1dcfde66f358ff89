"""Inkling: attention, windowed in most layers, with four short convolutions in each layer.

Convolutions follow the key, the value, the attention and the feed-forward; their last inputs are kept in float32.
"""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.prediction import UNCOUNTED
from model_catalog.blocks.recurrent import causal_conv
from model_catalog.fields import Fields
from model_catalog.importers.decoder import decoder, per_layer
from model_catalog.importers.hybrid import known_kinds
from model_catalog.importers.source import norms
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec, Recurrent
from model_catalog.tensors import Shard, Tensor, TensorClass

HYBRID, SLIDING = "hybrid", "hybrid_sliding"


def mixer_of(f: Fields, kind: str) -> Attention:
    """Windowed layers have head counts and dimensions of their own."""
    own = "swa_" if kind == SLIDING else ""
    dim = f.whole(f"{own}head_dim")
    return Attention(
        heads=f.whole(f"{own}num_attention_heads"),
        kv_heads=f.whole(f"{own}num_key_value_heads"),
        head_dim=dim,
        value_dim=dim,
        window=f.whole("sliding_window_size") if kind == SLIDING else None,
    )


def convolutions(f: Fields, mixer: Attention) -> Recurrent:
    channels = 2 * mixer.kv_heads * mixer.head_dim + 2 * f.whole("hidden_size")
    return Recurrent(
        kind="short_conv",
        heads=0,
        state_elements=0,
        conv_channels=channels,
        conv_kernel=f.whole("conv_kernel_size"),
        conv_dtype="fp32",
    )


def kinds_of(f: Fields, layers: int) -> list[str]:
    """layer_types, else the layers of local_layer_ids are windowed, else all but each sixth."""
    stated = f.items("layer_types", str)
    if stated is not None:
        if len(stated) != layers:
            raise f.error("layer_types", f"a list with the kind of each of {layers:,} layers")
        return known_kinds(f, stated, (HYBRID, SLIDING))
    local = f.items("local_layer_ids", int)
    windowed = {i for i in range(layers) if (i + 1) % 6} if local is None else set(local)
    return [SLIDING if i in windowed else HYBRID for i in range(layers)]


def extent_of(f: Fields, mixer: Attention) -> int:
    """How far the learned relative positions reach."""
    return mixer.window or f.whole("rel_extent")


def read_inkling(f: Fields) -> ModelSpec:
    layers = f.layer_count()
    kinds, mixtures = kinds_of(f, layers), _mixtures(f, layers)
    made = {pair: _layer(f, *pair) for pair in set(zip(kinds, mixtures, strict=True))}
    if f.whole("num_mtp_layers", 0, minimum=0):
        f.doubt("num_mtp_layers", UNCOUNTED, kv=False)
    return decoder(
        f,
        [made[pair] for pair in zip(kinds, mixtures, strict=True)],
        extra=norm("model.embed_tokens.embed_norm", f.whole("hidden_size")),
    )


def _mixtures(f: Fields, layers: int) -> list[bool]:
    stated = per_layer(f, "mlp_layer_types", layers, ("sparse", "dense"), kv=False)
    if stated is not None:
        return [kind == "sparse" for kind in stated]
    first = f.whole("dense_mlp_idx", 0, minimum=0)
    return [i >= first for i in range(layers)]


def _layer(f: Fields, kind: str, mixture: bool) -> Layer:
    hidden, mixer = f.whole("hidden_size"), mixer_of(f, kind)
    kernel, rank = f.whole("conv_kernel_size"), f.whole("d_rel")
    part, weights = _feed_forward(f, mixture)
    key, units = mixer.kv_heads * mixer.head_dim, mixer.kv_heads
    return Layer(
        mixers=(mixer, convolutions(f, mixer)),
        feed_forward=part,
        tensors=(
            *attention(mixer, hidden, qk_norm="head"),
            *linear(
                "self_attn.r_proj",
                mixer.heads * rank,
                hidden,
                TensorClass.ATTENTION,
                Shard.COLUMN,
                units=mixer.heads,
            ),
            *causal_conv("self_attn.k_sconv.conv1d", key, kernel, bias=False, units=units),
            *causal_conv("self_attn.v_sconv.conv1d", key, kernel, bias=False, units=units),
            *small("self_attn.rel_logits_proj.proj", rank, extent_of(f, mixer)),
            *small("attn_sconv.conv1d.weight", hidden, 1, kernel),
            *small("mlp_sconv.conv1d.weight", hidden, 1, kernel),
            *weights,
            *norms(hidden, "input_layernorm", "post_attention_layernorm"),
        ),
    )


def _feed_forward(f: Fields, mixture: bool) -> tuple[FeedForward, tuple[Tensor, ...]]:
    """Where dense_intermediate_size is stated it is the dense width, and intermediate_size that of the experts."""
    hidden, own = f.whole("hidden_size"), f.whole_or_none("dense_intermediate_size", minimum=1)
    if not mixture:
        size = own or f.whole("intermediate_size")
        return FeedForward(intermediate=size), (*dense(hidden, size), *small("mlp.global_scale", 1))
    size = f.whole("intermediate_size") if own else f.whole("moe_intermediate_size")
    count, shared = f.whole("n_routed_experts"), f.whole("n_shared_experts", minimum=0)
    part = FeedForward(
        intermediate=size, experts=count, top_k=f.whole("num_experts_per_tok"), shared_intermediate=shared * size
    )
    always = dense(hidden, shared * size, prefix="mlp.shared_experts", kind=TensorClass.SHARED_EXPERT)
    return part, (
        *router(hidden, count + shared),
        *small("mlp.gate.global_scale", 1, dtype="fp32"),
        *experts(hidden, size, count),
        *(always if shared else ()),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"inkling_text": read_inkling}
