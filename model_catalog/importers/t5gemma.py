"""T5Gemma: Gemma 2 layers as encoder and decoder (transformers 5.24.0, models/t5gemma)."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import norm
from model_catalog.fields import Fields
from model_catalog.importers.common import max_context_of
from model_catalog.importers.source import embedding, encoder_tower, head, norms, pair
from model_catalog.layer_kinds import FULL, SLIDING, stated_or
from model_catalog.spec import Attention, CrossAttention, FeedForward, Layer, ModelSpec, run_length
from model_catalog.tensors import Tensor


def read_t5gemma(f: Fields) -> ModelSpec:
    """A Gemma 2 encoder and decoder; every second decoder layer has a window over its own tokens."""
    encoder, decoder = f.part("encoder"), f.part("decoder")
    if encoder is None or decoder is None:
        raise f.error("encoder" if encoder is None else "decoder", "an object")
    hidden, vocab, tied = decoder.whole("hidden_size"), decoder.whole("vocab_size"), f.flag("tie_word_embeddings", True)
    source = encoder.whole("max_position_embeddings")
    f.doubt("encoder", f"A source of {source:,} tokens is assumed, the longest that the model takes.", weights=False)
    kinds = stated_or(_windowed_first)(decoder, decoder.layer_count())
    made = {kind: _layer(decoder, encoder, kind, source) for kind in set(kinds)}
    own, _ = _pair_of(encoder, source)
    width = encoder.whole("hidden_size")
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([made[kind] for kind in kinds]),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(decoder),
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(
            embedding("model.decoder.embed_tokens", vocab, hidden),
            *norm("model.decoder.norm", hidden),
            *(() if tied else (head(vocab, hidden),)),
        ),
        towers=encoder_tower(
            (embedding("model.encoder.embed_tokens", encoder.whole("vocab_size"), width), *norm("norm", width)),
            (*_attention(encoder, own, "self_attn"), *_rest(encoder)),
            encoder.layer_count(),
        ),
    )


def _windowed_first(f: Fields, layers: int) -> list[str]:
    return [FULL if i % 2 else SLIDING for i in range(layers)]


def _pair_of(f: Fields, source: int) -> tuple[Attention, CrossAttention]:
    heads = f.whole("num_attention_heads")
    return pair(heads, f.whole("num_key_value_heads", heads), f.whole("head_dim"), source)


def _layer(f: Fields, encoder: Fields, kind: str, source: int) -> Layer:
    own, cross = _pair_of(f, source)
    if kind == SLIDING:
        own = replace(own, window=f.whole("sliding_window"))
    width = encoder.whole("hidden_size")
    return Layer(
        mixers=(own, cross),
        feed_forward=FeedForward(intermediate=f.whole("intermediate_size")),
        tensors=(
            *_attention(f, own, "self_attn"),
            *_attention(f, cross, "cross_attn", width),
            *_rest(f),
        ),
    )


def _attention(
    f: Fields, mixer: Attention | CrossAttention, prefix: str, source_hidden: int | None = None
) -> tuple[Tensor, ...]:
    """Attention, and a norm before and after it."""
    hidden, bias = f.whole("hidden_size"), f.flag("attention_bias")
    return (
        *attention(mixer, hidden, prefix=prefix, qkv_bias=bias, out_bias=bias, source_hidden=source_hidden),
        *norms(hidden, f"pre_{prefix}_layernorm", f"post_{prefix}_layernorm"),
    )


def _rest(f: Fields) -> tuple[Tensor, ...]:
    hidden = f.whole("hidden_size")
    return (
        *dense(hidden, f.whole("intermediate_size")),
        *norms(hidden, "pre_feedforward_layernorm", "post_feedforward_layernorm"),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"t5gemma": read_t5gemma}
