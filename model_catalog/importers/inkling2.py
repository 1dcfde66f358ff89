"""Inkling 2, and Inkling 2 Loop, some of whose layers run several times."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import experts, router
from model_catalog.blocks.linear import linear, small
from model_catalog.blocks.recurrent import causal_conv
from model_catalog.fields import Fields
from model_catalog.importers.common import max_context_of
from model_catalog.importers.inkling import SLIDING, convolutions, extent_of, kinds_of, mixer_of
from model_catalog.importers.source import norms
from model_catalog.spec import Attention, FeedForward, Layer, ModelSpec, run_length
from model_catalog.tensors import Shard, Tensor, TensorClass


def read_inkling2(f: Fields) -> ModelSpec:
    kinds = kinds_of(f, f.layer_count())
    return _spec(f, [_layer(f, kind, index) for index, kind in enumerate(kinds)])


def _spec(f: Fields, layers: list[Layer], extra: tuple[Tensor, ...] = ()) -> ModelSpec:
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
            *norms(hidden, "model.embed_tokens.embed_norm", "model.norm"),
            *small("model.final_input.query", hidden, dtype="fp32"),
            *extra,
        ),
    )


def _layer(f: Fields, kind: str, index: int, passes: int = 1, extra: tuple[Tensor, ...] = ()) -> Layer:
    """Each layer's inputs are chosen by queries over earlier layers. The first layer has none for its attention."""
    hidden, mixer = f.whole("hidden_size"), mixer_of(f, kind)
    size, count = f.whole("moe_intermediate_size"), f.whole("n_routed_experts")
    inputs = 1 if kind == SLIDING else 3
    names = ("input_layernorm",) if kind == SLIDING else ("q_layernorm", "k_layernorm", "v_layernorm")
    kernel = f.whole("conv_kernel_size")
    return Layer(
        mixers=(mixer, convolutions(f, mixer)) * passes,
        feed_forward=FeedForward(intermediate=size, experts=count, top_k=f.whole("num_experts_per_tok")),
        tensors=(
            *_attention(f, kind, mixer),
            *router(hidden, count),
            *experts(hidden, size, count),
            *norms(hidden, *names, "post_attention_layernorm"),
            *small("post_attention_convolution.conv1d.weight", hidden, 1, kernel),
            *small("post_mlp_convolution.conv1d.weight", hidden, 1, kernel),
            *small("mlp_input.query", hidden, dtype="fp32"),
            *(small("attention_input.query", inputs, hidden, dtype="fp32") if index else ()),
            *extra,
        ),
    )


def _attention(f: Fields, kind: str, mixer: Attention) -> tuple[Tensor, ...]:
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
        *small("self_attn.relative_position_bias.proj", rank, extent_of(f, mixer)),
        *(tensor for part in ("k_proj", "v_proj") for tensor in _convolution(f, kind, mixer, part)),
    )


def _convolution(f: Fields, kind: str, mixer: Attention, part: str) -> tuple[Tensor, ...]:
    """Fixed weights in windowed layers; in full layers each token adds to them."""
    hidden, kernel, name = f.whole("hidden_size"), f.whole("conv_kernel_size"), f"self_attn.{part}.sconv"
    key, units = mixer.kv_heads * mixer.head_dim, mixer.kv_heads
    if kind == SLIDING:
        return causal_conv(f"{name}.conv1d", key, kernel, bias=False, units=units)
    return (
        *small(f"{name}.static_weight", kernel, key),
        *linear(f"{name}.weight_proj", units * kernel, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=units),
    )


def read_inkling2_loop(f: Fields) -> ModelSpec:
    """Some layers run several times; each pass keeps keys, values and convolution inputs of its own."""
    loop = f.part("loop_config") or Fields({}, "", f"{f.path}loop_config.")
    start = loop.whole("core_start", f.whole("loop_layer_index_start"))
    end = loop.whole("core_end", f.whole("loop_layer_index_end"))
    passes = loop.whole("num_passes", f.whole("loop_num_passes"), maximum=64)
    rank, hidden = loop.whole("gate_rank", f.whole("loop_gate_rank")), f.whole("hidden_size")
    gates = tuple(t for part in ("q", "k", "v", "mlp") for t in _message_gate(f"{part}_message_gate", hidden, rank))
    layers = []
    for index, kind in enumerate(kinds_of(f, f.layer_count())):
        repeats = start <= index < end
        layers.append(_layer(f, kind, index, passes if repeats else 1, gates if repeats else ()))
    queries = small("model.message_input.query", max(end - start, 0), 4, hidden, dtype="fp32")
    return _spec(f, layers, queries)


def _message_gate(name: str, hidden: int, rank: int) -> tuple[Tensor, ...]:
    kind = TensorClass.SMALL
    return (
        *linear(f"{name}.down_proj", rank, 2 * hidden, kind),
        *linear(f"{name}.forget_gate_proj", hidden, rank, kind),
        *linear(f"{name}.message_gate_proj", hidden, rank, kind),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "inkling2_text": read_inkling2,
    "inkling2_loop_text": read_inkling2_loop,
}
