"""Llama 3.2 Vision: a Llama decoder some of whose layers look at the image and at nothing else (models/mllama)."""

from collections.abc import Callable

from model_catalog.blocks.attention import attention
from model_catalog.blocks.feed_forward import dense
from model_catalog.blocks.linear import norm, small
from model_catalog.fields import Fields
from model_catalog.importers import wrapped
from model_catalog.importers.common import max_context_of
from model_catalog.importers.source import embedding, head, norms, pair
from model_catalog.spec import FeedForward, Layer, ModelSpec, run_length

MLLAMA_SOURCE = 4 * 1601  # one image of four tiles of 560 × 560 pixels: 40 × 40 patches and a class token each


def read_mllama(f: Fields) -> ModelSpec:
    """The decoder's cross-attention layers see one image of max_num_tiles tiles."""
    text, vision = f.part("text_config"), f.part("vision_config")
    if text is None:
        raise f.error("text_config", "an object")
    return wrapped.read_wrapped(f, text, lambda inner: _mllama_text(inner, _tile_tokens(vision)))


def _tile_tokens(vision: Fields | None) -> int:
    if vision is None or not isinstance(vision.raw("image_size"), int):
        return MLLAMA_SOURCE
    patches = vision.whole("image_size") // vision.whole("patch_size")
    return vision.whole("max_num_tiles") * (patches**2 + 1)


def _mllama_text(f: Fields, source: int = MLLAMA_SOURCE) -> ModelSpec:
    hidden, vocab, tied = f.whole("hidden_size"), f.whole("vocab_size"), f.flag("tie_word_embeddings")
    crossing = f.items("cross_attention_layers", int)
    chosen = set((3, 8, 13, 18, 23, 28, 33, 38) if crossing is None else crossing)
    f.doubt("cross_attention_layers", f"One image of {source:,} tokens in each sequence is assumed.", weights=False)
    made = {crosses: _mllama_layer(f, source, crosses) for crosses in (True, False)}
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length([made[i in chosen] for i in range(f.layer_count())]),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(f),
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(
            embedding("model.embed_tokens", vocab + 8, hidden),
            *norm("model.norm", hidden),
            *(() if tied else (head(vocab, hidden),)),
        ),
    )


def _mllama_layer(f: Fields, source: int, crosses: bool) -> Layer:
    hidden, heads, size = f.whole("hidden_size"), f.whole("num_attention_heads"), f.whole("intermediate_size")
    own, cross = pair(heads, f.whole("num_key_value_heads"), hidden // heads, source)
    gates = (*small("cross_attn_attn_gate", 1), *small("cross_attn_mlp_gate", 1))
    tensors = (
        (*attention(cross, hidden, prefix="cross_attn", qk_norm="head"), *gates) if crosses else attention(own, hidden)
    )
    return Layer(
        mixers=(cross if crosses else own,),
        feed_forward=FeedForward(intermediate=size),
        tensors=(
            *tensors,
            *dense(hidden, size),
            *norms(hidden, "input_layernorm", "post_attention_layernorm"),
        ),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"mllama": read_mllama, "mllama_text_model": _mllama_text}
