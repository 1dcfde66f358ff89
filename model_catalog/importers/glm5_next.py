"""GLM-5.3-Flash: Kimi delta attention in three layers of four, sparse MLA with pooled index keys in the others."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from model_catalog.blocks.hyper import manifold_connections
from model_catalog.blocks.linear import linear, small
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.recurrent import KimiDelta
from model_catalog.fields import Fields
from model_catalog.importers import latent_rules as rules
from model_catalog.importers.decoder import decoder, per_layer
from model_catalog.importers.latent_parts import (
    attention_tensors,
    indexer_of,
    mixer_of,
    mixture_of,
    two_norms,
)
from model_catalog.spec import FeedForward, Layer, Mixer, ModelSpec
from model_catalog.tensors import Tensor, TensorClass

INDEXED, LINEAR = "indexed_attention", "linear_attention"


def read_glm5_next(f: Fields) -> ModelSpec:
    """The decoder of GLM-5.3-Flash (transformers 5.24.0, models/glm5_next)."""
    layers = f.layer_count()
    mixtures = rules.stated_mixtures(rules.after(3))(f, layers)
    kinds, indexers = _kinds(f, layers), rules.own_indexers(f, layers)
    return decoder(f, [_layer(f, kinds[i], mixtures[i], indexers[i]) for i in range(layers)])


def _kinds(f: Fields, layers: int) -> list[str]:
    """Every fourth layer attends, unless layer_types says otherwise."""
    stated = per_layer(f, "layer_types", layers, (INDEXED, "full_attention", *rules.INDEXED, LINEAR))
    return stated or [INDEXED if i % 4 == 3 else LINEAR for i in range(layers)]


def _layer(f: Fields, kind: str, mixture: bool, indexer: bool) -> Layer:
    hidden = f.whole("hidden_size")
    mixer, tensors = _delta(f) if kind == LINEAR else _attention(f, indexer)
    part = mixture_of(f) if mixture else FeedForward(intermediate=f.whole("intermediate_size"))
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *tensors,
            *feed_forward(hidden, part),
            *two_norms(f, mixture),
            *manifold_connections(hidden, f.whole("hc_mult"), dtype=None),
        ),
    )


def _delta(f: Fields) -> tuple[Mixer, tuple[Tensor, ...]]:
    """Sizes stand in linear_ fields, or in an older linear_attn_config, which wins."""
    older = f.part("linear_attn_config") if isinstance(f.raw("linear_attn_config"), Mapping) else None
    heads, head_dim, kernel = (
        older.whole(name, f.whole(own)) if older else f.whole(own)
        for name, own in (
            ("num_heads", "linear_num_heads"),
            ("head_dim", "linear_head_dim"),
            ("short_conv_kernel_size", "linear_conv_kernel_dim"),
        )
    )
    delta = KimiDelta(hidden=f.whole("hidden_size"), heads=heads, head_dim=head_dim, kernel=kernel)
    return delta.mixer(), delta.tensors()


def _attention(f: Fields, indexer: bool) -> tuple[Mixer, tuple[Tensor, ...]]:
    hidden, pool = f.whole("hidden_size"), f.whole("index_kpool")
    mixer = mixer_of(f)
    if not indexer:
        return mixer, attention_tensors(f, mixer)
    if pool == 1:
        f.doubt("index_kpool", "Index keys are not pooled; what an engine keeps for them is not known.", weights=False)
    mixer = replace(mixer, indexer=indexer_of(f, pool=pool))
    dim = f.whole("index_head_dim")
    pooling = (
        *small("self_attn.indexer.index_kpool_compress_ape", pool, dim),
        *linear("self_attn.indexer.index_kpool_compress_gate", dim, hidden, TensorClass.INDEXER),
    )
    return mixer, (*attention_tensors(f, mixer), *pooling)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {"glm5_next_text": read_glm5_next}
