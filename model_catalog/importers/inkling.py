"""Inkling, Inkling 2 and Inkling 2 Loop: attention, windowed in most layers, with four short convolutions in each layer.

Convolutions follow the key, the value, the attention and the feed-forward; their last inputs are kept in float32.
"""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.recurrent import causal_conv
from model_catalog.fields import Fields
from model_catalog.importers.common import max_context_of
from model_catalog.importers.decoder import decoder, per_layer
from model_catalog.importers.hybrid import known_kinds
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec, Recurrent, run_length
from model_catalog.tensors import Shard, Tensor, TensorClass

HYBRID, SLIDING = "hybrid", "hybrid_sliding"


def _mixer(f: Fields, kind: str) -> Attention:
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


def _convolutions(f: Fields, mixer: Attention) -> Recurrent:
    channels = 2 * mixer.kv_heads * mixer.head_dim + 2 * f.whole("hidden_size")
    return Recurrent(
        kind="short_conv",
        heads=0,
        state_elements=0,
        conv_channels=channels,
        conv_kernel=f.whole("conv_kernel_size"),
        conv_dtype="fp32",
    )


def _kinds(f: Fields, layers: int) -> list[str]:
    """layer_types, else the layers of local_layer_ids are windowed, else all but each sixth."""
    stated = f.items("layer_types", str)
    if stated is not None:
        if len(stated) != layers:
            raise f.error("layer_types", f"a list with the kind of each of {layers:,} layers")
        return known_kinds(f, stated, (HYBRID, SLIDING))
    local = f.items("local_layer_ids", int)
    windowed = {i for i in range(layers) if (i + 1) % 6} if local is None else set(local)
    return [SLIDING if i in windowed else HYBRID for i in range(layers)]


def _extent(f: Fields, mixer: Attention) -> int:
    """How far the learned relative positions reach."""
    return mixer.window or f.whole("rel_extent")


def _all_norms(hidden: int, *names: str) -> tuple[Tensor, ...]:
    return tuple(tensor for name in names for tensor in norm(name, hidden))


# --- Inkling ---


def read_inkling(f: Fields) -> ModelSpec:
    layers = f.layer_count()
    kinds, mixtures = _kinds(f, layers), _mixtures(f, layers)
    made = {pair: _layer(f, *pair) for pair in set(zip(kinds, mixtures, strict=True))}
    if f.whole("num_mtp_layers", 0, minimum=0):
        f.doubt("num_mtp_layers", "The multi-token prediction layers are not counted.", kv=False)
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
    hidden, mixer = f.whole("hidden_size"), _mixer(f, kind)
    kernel, rank = f.whole("conv_kernel_size"), f.whole("d_rel")
    part, weights = _feed_forward(f, mixture)
    key, units = mixer.kv_heads * mixer.head_dim, mixer.kv_heads
    return Layer(
        mixers=(mixer, _convolutions(f, mixer)),
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
            *small("self_attn.rel_logits_proj.proj", rank, _extent(f, mixer)),
            *small("attn_sconv.conv1d.weight", hidden, 1, kernel),
            *small("mlp_sconv.conv1d.weight", hidden, 1, kernel),
            *weights,
            *_all_norms(hidden, "input_layernorm", "post_attention_layernorm"),
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


# --- Inkling 2 ---


def read_inkling2(f: Fields) -> ModelSpec:
    kinds = _kinds(f, f.layer_count())
    return _spec2(f, [_layer2(f, kind, index) for index, kind in enumerate(kinds)])


def _spec2(f: Fields, layers: list[Layer], extra: tuple[Tensor, ...] = ()) -> ModelSpec:
    """The output head leaves out the padding of the vocabulary."""
    hidden, vocab = f.whole("hidden_size"), f.whole("vocab_size")
    head = (f.whole("unpadded_vocab_size"), hidden)
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length(layers),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(f),
        dtype="bf16",
        tied_embeddings=False,
        tensors=(
            Tensor("model.embed_tokens.weight", TensorClass.EMBEDDING, (vocab, hidden), Shard.VOCAB),
            Tensor("lm_head.weight", TensorClass.LM_HEAD, head, Shard.VOCAB),
            *_all_norms(hidden, "model.embed_tokens.embed_norm", "model.norm"),
            *small("model.final_input.query", hidden, dtype="fp32"),
            *extra,
        ),
    )


def _layer2(f: Fields, kind: str, index: int, passes: int = 1, extra: tuple[Tensor, ...] = ()) -> Layer:
    """Each layer's inputs are chosen by queries over earlier layers. The first layer has none for its attention."""
    hidden, mixer = f.whole("hidden_size"), _mixer(f, kind)
    size, count = f.whole("moe_intermediate_size"), f.whole("n_routed_experts")
    inputs = 1 if kind == SLIDING else 3
    names = ("input_layernorm",) if kind == SLIDING else ("q_layernorm", "k_layernorm", "v_layernorm")
    kernel = f.whole("conv_kernel_size")
    return Layer(
        mixers=(mixer, _convolutions(f, mixer)) * passes,
        feed_forward=FeedForward(intermediate=size, experts=count, top_k=f.whole("num_experts_per_tok")),
        tensors=(
            *_attention2(f, kind, mixer),
            *router(hidden, count),
            *experts(hidden, size, count),
            *_all_norms(hidden, *names, "post_attention_layernorm"),
            *small("post_attention_convolution.conv1d.weight", hidden, 1, kernel),
            *small("post_mlp_convolution.conv1d.weight", hidden, 1, kernel),
            *small("mlp_input.query", hidden, dtype="fp32"),
            *(small("attention_input.query", inputs, hidden, dtype="fp32") if index else ()),
            *extra,
        ),
    )


def _attention2(f: Fields, kind: str, mixer: Attention) -> tuple[Tensor, ...]:
    """Plain projections, an output gate, a sink for each head, relative positions; no norms but learned clips."""
    hidden, heads, rank = f.whole("hidden_size"), mixer.heads, f.whole("d_rel")
    by_head = (
        ("o_proj.gate_proj", heads * mixer.head_dim),
        ("sink_proj", heads),
        ("relative_position_bias.linear", heads * rank),
    )
    gates = (
        linear(f"self_attn.{name}", out, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=heads)
        for name, out in by_head
    )
    return (
        *attention(mixer, hidden),
        *(tensor for tensors in gates for tensor in tensors),
        *small("self_attn.q_proj.norm.scale", heads, mixer.head_dim, shard=Shard.COLUMN),
        *small("self_attn.relative_position_bias.norm.scale", heads, rank, shard=Shard.COLUMN),
        *small("self_attn.relative_position_bias.proj", rank, _extent(f, mixer)),
        *(tensor for part in ("k_proj", "v_proj") for tensor in _convolution2(f, kind, mixer, part)),
    )


def _convolution2(f: Fields, kind: str, mixer: Attention, part: str) -> tuple[Tensor, ...]:
    """Fixed weights in windowed layers; in full layers each token adds to them."""
    hidden, kernel, name = f.whole("hidden_size"), f.whole("conv_kernel_size"), f"self_attn.{part}.sconv"
    key, units = mixer.kv_heads * mixer.head_dim, mixer.kv_heads
    if kind == SLIDING:
        return causal_conv(f"{name}.conv1d", key, kernel, bias=False, units=units)
    return (
        *small(f"{name}.static_weight", kernel, key),
        *linear(f"{name}.weight_proj", units * kernel, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=units),
    )


# --- Inkling 2 Loop ---


def read_inkling2_loop(f: Fields) -> ModelSpec:
    """Some layers run several times; each pass keeps keys, values and convolution inputs of its own."""
    loop = f.part("loop_config") or Fields({}, "", f"{f.path}loop_config.")
    start = loop.whole("core_start", f.whole("loop_layer_index_start"))
    end = loop.whole("core_end", f.whole("loop_layer_index_end"))
    passes = loop.whole("num_passes", f.whole("loop_num_passes"), maximum=64)
    rank, hidden = loop.whole("gate_rank", f.whole("loop_gate_rank")), f.whole("hidden_size")
    gates = tuple(t for part in ("q", "k", "v", "mlp") for t in _message_gate(f"{part}_message_gate", hidden, rank))
    layers = []
    for index, kind in enumerate(_kinds(f, f.layer_count())):
        repeats = start <= index < end
        layers.append(_layer2(f, kind, index, passes if repeats else 1, gates if repeats else ()))
    queries = small("model.message_input.query", max(end - start, 0), 4, hidden, dtype="fp32")
    return _spec2(f, layers, queries)


def _message_gate(name: str, hidden: int, rank: int) -> tuple[Tensor, ...]:
    kind = TensorClass.SMALL
    return (
        *linear(f"{name}.down_proj", rank, 2 * hidden, kind),
        *linear(f"{name}.forget_gate_proj", hidden, rank, kind),
        *linear(f"{name}.message_gate_proj", hidden, rank, kind),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "inkling_text": read_inkling,
    "inkling2_text": read_inkling2,
    "inkling2_loop_text": read_inkling2_loop,
}
