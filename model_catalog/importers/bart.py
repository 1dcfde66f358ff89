"""Models built like BART (mBART, Pegasus, Marian, M2M-100, Blenderbot, ...), and Whisper (transformers 5.24.0)."""

from collections.abc import Callable
from dataclasses import dataclass

from model_catalog.blocks.attention import attention
from model_catalog.blocks.ends import positions
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import linear, norm
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.source import embedding, encoder_tower, head, norms, pair
from model_catalog.spec import Attention, CrossAttention, FeedForward, Layer, ModelSpec, run_length
from model_catalog.tensors import Tensor, TensorClass


@dataclass(frozen=True, kw_only=True)
class Family:
    """How a model built like BART differs. `positions`: rows beyond max_position_embeddings, None for no table."""

    positions: int | None = 0
    embedding_norm: bool = False
    final_norm: bool = False


def read_bart(f: Fields, family: Family) -> ModelSpec:
    """Biases everywhere; one embedding for both sides and the output head."""
    hidden, vocab, tied = f.whole("d_model"), f.whole("vocab_size"), f.flag("tie_word_embeddings", True)
    source = f.whole("max_position_embeddings")
    f.doubt(
        "max_position_embeddings",
        f"A source of {source:,} tokens is assumed, the longest that the model takes.",
        weights=False,
    )
    if not tied or not f.flag("share_encoder_decoder_embeddings", True):
        f.doubt("tie_word_embeddings", "Embeddings are counted as shared by both sides.", kv=False)
    side = _bart_side(f, family)
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([_bart_layer(f, source)] * f.layer_count("decoder_layers")),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=source,
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(embedding("shared", vocab, hidden), *side, *(() if tied else (head(vocab, hidden),))),
        towers=encoder_tower(side, _bart_encoder_layer(f), f.layer_count("encoder_layers")),
    )


def _bart_side(f: Fields, family: Family) -> tuple[Tensor, ...]:
    """What each side has besides its layers."""
    hidden, rows = f.whole("d_model"), f.whole("max_position_embeddings")
    return (
        *(() if family.positions is None else positions(rows + family.positions, hidden)),
        *(norm("layernorm_embedding", hidden, bias=True) if family.embedding_norm else ()),
        *(norm("layer_norm", hidden, bias=True) if family.final_norm else ()),
    )


def _bart_layer(f: Fields, source: int, *, key_bias: bool = True) -> Layer:
    hidden, heads, size = f.whole("d_model"), f.whole("decoder_attention_heads"), f.whole("decoder_ffn_dim")
    own, cross = pair(heads, heads, _dim(f, "decoder_attention_heads"), source)
    return Layer(
        mixers=(own, cross),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *_biased(own, hidden, "self_attn", key_bias=key_bias),
            *_biased(cross, hidden, "encoder_attn", key_bias=key_bias),
            *dense(hidden, size, gated=False, bias=True),
            *norms(hidden, "self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm", bias=True),
        ),
    )


def _bart_encoder_layer(f: Fields, *, key_bias: bool = True) -> tuple[Tensor, ...]:
    hidden, heads = f.whole("d_model"), f.whole("encoder_attention_heads")
    own, _ = pair(heads, heads, _dim(f, "encoder_attention_heads"), 1)
    return (
        *_biased(own, hidden, "self_attn", key_bias=key_bias),
        *dense(hidden, f.whole("encoder_ffn_dim"), gated=False, bias=True),
        *norms(hidden, "self_attn_layer_norm", "final_layer_norm", bias=True),
    )


def _biased(mixer: Attention | CrossAttention, hidden: int, prefix: str, *, key_bias: bool) -> tuple[Tensor, ...]:
    tensors = attention(mixer, hidden, prefix=prefix, qkv_bias=True, out_bias=True)
    return tuple(tensor for tensor in tensors if key_bias or not tensor.name.endswith("k_proj.bias"))


def _dim(f: Fields, name: str) -> int:
    hidden, heads = f.whole("d_model"), f.whole(name)
    if hidden % heads:
        raise ConfigError(f.path + name, f"{f.path}d_model {hidden:,} does not divide by {name} {heads:,}.")
    return hidden // heads


BART_LIKE = {
    "bart": Family(positions=2, embedding_norm=True),
    "plbart": Family(positions=2, embedding_norm=True),
    "mvp": Family(positions=2, embedding_norm=True),
    "mbart": Family(positions=2, embedding_norm=True, final_norm=True),
    "pegasus": Family(final_norm=True),
    "blenderbot": Family(final_norm=True),
    "blenderbot-small": Family(embedding_norm=True),
    "marian": Family(),
    "m2m_100": Family(positions=None, final_norm=True),
}


def read_whisper(f: Fields) -> ModelSpec:
    """Sound of 30 s becomes max_source_positions encoder tokens, always. The key projection has no bias."""
    hidden, vocab, tied = f.whole("d_model"), f.whole("vocab_size"), f.flag("tie_word_embeddings", True)
    source, target = f.whole("max_source_positions"), f.whole("max_target_positions")
    convolutions = (
        *linear("conv1", hidden, 3 * f.whole("num_mel_bins"), TensorClass.ENCODER, bias=True),
        *linear("conv2", hidden, 3 * hidden, TensorClass.ENCODER, bias=True),
    )
    ends = (*positions(source, hidden), *norm("layer_norm", hidden, bias=True))
    layer = _bart_layer(f, source, key_bias=False)
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([layer] * f.layer_count("decoder_layers")),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=target,
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(
            embedding("model.decoder.embed_tokens", vocab, hidden),
            *positions(target, hidden),
            *norm("model.decoder.layer_norm", hidden, bias=True),
            *(() if tied else (head(vocab, hidden),)),
        ),
        towers=encoder_tower(
            (*convolutions, *ends), _bart_encoder_layer(f, key_bias=False), f.layer_count("encoder_layers")
        ),
    )


def _reader(family: Family) -> Callable[[Fields], ModelSpec]:
    return lambda f: read_bart(f, family)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **{model_type: _reader(family) for model_type, family in BART_LIKE.items()},
    "whisper": read_whisper,
}
