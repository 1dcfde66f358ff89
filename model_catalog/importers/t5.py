"""T5, mT5, UMT5 and LongT5 (transformers 5.24.0)."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import norm, small
from model_catalog.fields import MOST_LAYERS, Fields
from model_catalog.importers.common import max_context_of
from model_catalog.importers.source import embedding, encoder_tower, norms, pair
from model_catalog.spec import FeedForward, Layer, ModelSpec, run_length
from model_catalog.tensors import Tensor

T5_SOURCE = 512  # the length that T5 was trained at; its relative positions set no limit


def read_t5(f: Fields) -> ModelSpec:
    """T5, mT5, UMT5 and LongT5: relative positions in the first layer of each side, in every layer of UMT5."""
    hidden, vocab = f.whole("d_model"), f.whole("vocab_size")
    layers = f.layer_count("num_layers")
    decoder_layers = f.whole("num_decoder_layers", layers, maximum=MOST_LAYERS)
    source = f.whole("n_positions", T5_SOURCE)
    f.doubt("n_positions", f"A source of {source:,} tokens is assumed; the model sets no length.", weights=False)
    if not f.flag("tie_word_embeddings", True):
        f.doubt("tie_word_embeddings", "transformers 5.24 ties the output head, which the file keeps apart.", kv=False)
    own, cross = pair(f.whole("num_heads"), f.whole("num_heads"), f.whole("d_kv"), source)
    part, weights = _t5_feed_forward(f, hidden)
    bias = small("relative_attention_bias.weight", f.whole("relative_attention_num_buckets"), own.heads)
    everywhere = f.model_type == "umt5"
    each, once = (bias, ()) if everywhere else ((), bias)
    layer = Layer(
        mixers=(own, cross),
        feed_forward=part,
        tensors=(
            *attention(own, hidden, prefix="SelfAttention"),
            *attention(cross, hidden, prefix="EncDecAttention"),
            *weights,
            *norms(hidden, "layer_norm.0", "layer_norm.1", "layer_norm.2"),
            *each,
        ),
    )
    encoder_layer = (*attention(own, hidden), *weights, *norms(hidden, "layer_norm.0", "layer_norm.1"), *each)
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([layer] * decoder_layers),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(f) or f.whole_or_none("n_positions"),
        dtype="bf16",
        tied_embeddings=True,
        tensors=(embedding("shared", vocab, hidden), *norm("decoder.final_layer_norm", hidden), *once),
        towers=encoder_tower(
            (*norm("encoder.final_layer_norm", hidden), *once, *_long_t5_once(f)),
            (*encoder_layer, *_long_t5_each(f)),
            layers,
        ),
    )


def _t5_feed_forward(f: Fields, hidden: int) -> tuple[FeedForward, tuple[Tensor, ...]]:
    size, gated = f.whole("d_ff"), f.text("feed_forward_proj").startswith("gated")
    return FeedForward(intermediate=size), dense(hidden, size, prefix="DenseReluDense", gated=gated)


def _long_t5_once(f: Fields) -> tuple[Tensor, ...]:
    """LongT5's global tokens: a second table of relative positions, and a norm in each layer."""
    if f.text("encoder_attention_type") != "transient-global":
        return ()
    rows = f.whole("relative_attention_num_buckets")
    return small("encoder.global_relative_attention_bias.weight", rows, f.whole("num_heads"))


def _long_t5_each(f: Fields) -> tuple[Tensor, ...]:
    has_global = f.text("encoder_attention_type") == "transient-global"
    return norm("global_input_layer_norm", f.whole("d_model")) if has_global else ()


READERS: dict[str, Callable[[Fields], ModelSpec]] = dict.fromkeys(("t5", "mt5", "umt5", "longt5"), read_t5)
