"""Decoders with multi-head latent attention (MLA) in every layer: DeepSeek-V2 and V3, and those built like them.

Most differ only in which layers are mixtures and which own a sparse-attention indexer, so each is one row of FAMILIES.
Traits follow the classes of transformers 5.24.0 (models/<model_type>/modeling_<model_type>.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from model_catalog.blocks.attention import attention
from model_catalog.blocks.linear import linear, norm
from model_catalog.blocks.mixture import feed_forward
from model_catalog.blocks.prediction import deepseek_prediction
from model_catalog.fields import Fields
from model_catalog.importers import compressed, glm5_next, latent_variants
from model_catalog.importers import latent_rules as rules
from model_catalog.importers.common import head_dim_of
from model_catalog.importers.decoder import decoder, read_as
from model_catalog.importers.latent_parts import (
    attention_tensors,
    indexer_of,
    mixer_of,
    mixture_of,
    prediction_layers,
    two_norms,
)
from model_catalog.spec import Attention, FeedForward, LatentAttention, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass


@dataclass(frozen=True, kw_only=True)
class Family:
    """What a latent-attention model type does in its own way. Defaults are DeepSeek-V3's."""

    mixtures: rules.Flags = rules.after_first_dense
    indexers: rules.Flags | None = None  # None: attention is not sparse
    norms: Callable[[Fields, bool], tuple[Tensor, ...]] = two_norms
    attention: Callable[[Fields, LatentAttention], tuple[Tensor, ...]] = attention_tensors
    mlp_bias: bool = False  # whether the class reads the field of that name
    draft_ends: bool = True  # prediction layers have their own copies of embedding and output head


def read_latent(f: Fields, family: Family) -> ModelSpec:
    """ModelSpec of a decoder whose every layer is MLA and a feed-forward."""
    layers = f.layer_count()
    mixtures = family.mixtures(f, layers)
    indexers = family.indexers(f, layers) if family.indexers else [False] * layers
    if family.indexers is None:
        rules.doubt_foreign_windows(f)
    built = [_layer(f, family, mixtures[i], indexers[i]) for i in range(layers)]
    draft = _layer(f, family, any(mixtures), family.indexers is not None)
    towers = deepseek_prediction(
        draft.tensors,
        f.whole("hidden_size"),
        f.whole("vocab_size"),
        prediction_layers(f),
        own_embedding=family.draft_ends,
        own_head=family.draft_ends,
    )
    return decoder(f, built, towers=towers)


def _layer(f: Fields, family: Family, mixture: bool, indexer: bool) -> Layer:
    hidden = f.whole("hidden_size")
    mixer = replace(mixer_of(f), indexer=indexer_of(f) if indexer else None)
    part = mixture_of(f) if mixture else FeedForward(intermediate=f.whole("intermediate_size"))
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *family.attention(f, mixer),
            *feed_forward(hidden, part, bias=family.mlp_bias and f.flag("mlp_bias")),
            *family.norms(f, mixture),
        ),
    )


def _axk1_norms(f: Fields, mixture: bool) -> tuple[Tensor, ...]:
    """A.X-K1: a mixture's output is normed too."""
    hidden = f.whole("hidden_size")
    return (*two_norms(f, mixture), *(norm("mlp.post_mlp_layernorm", hidden) if mixture else ()))


def _axk2_norms(f: Fields, mixture: bool) -> tuple[Tensor, ...]:
    """A.X-K2: norms before attention and before mixtures carry a small gate of two linear layers."""
    hidden, rank, kind = f.whole("hidden_size"), f.whole("gated_norm_rank"), TensorClass.SMALL
    gates = 2 if mixture else 1
    return (
        *two_norms(f, mixture),
        *linear("input_layernorm.gate.fc1", rank, hidden, kind, count=gates),
        *linear("input_layernorm.gate.fc2", hidden, rank, kind, count=gates),
    )


def _axk2_attention(f: Fields, mixer: LatentAttention) -> tuple[Tensor, ...]:
    """A.X-K2: one projection makes queries and an output gate out of twice the query latent."""
    plain = attention_tensors(f, mixer)
    out = mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
    query = linear(
        "self_attn.q_gate_proj",
        out,
        2 * f.whole("q_lora_rank"),
        TensorClass.ATTENTION,
        Shard.COLUMN,
        units=mixer.heads,
    )
    return (*(tensor for tensor in plain if "q_b_proj" not in tensor.name), *query)


FAMILIES: dict[str, Family] = {
    "deepseek_v2": Family(mlp_bias=True),
    "deepseek_v3": Family(),
    "sarvam_mla": Family(),
    "mistral4": Family(),
    "deepseek_v32": Family(mixtures=rules.stated_mixtures(rules.after_first_dense), indexers=rules.every_layer),
    "glm_moe_dsa": Family(
        mixtures=rules.stated_mixtures(rules.after_first_dense),
        indexers=rules.indexer_layers,
        draft_ends=False,
    ),
    "glm4_moe_lite": Family(mixtures=rules.stated_mixtures(rules.after(1))),
    "axk1": Family(mixtures=rules.stated_mixtures(rules.at_frequency), norms=_axk1_norms),
    "axk2": Family(
        mixtures=rules.stated_mixtures(rules.at_frequency),
        indexers=rules.every_layer,
        norms=_axk2_norms,
        attention=_axk2_attention,
    ),
    "youtu": Family(mixtures=rules.no_layer),
    "minicpm3": Family(mixtures=rules.no_layer, mlp_bias=True),
}


def read_deepseek_v2(f: Fields) -> ModelSpec:
    """DeepSeek-V2; its small vision-language models switch MLA off (use_mla) and keep only the experts."""
    if f.flag("use_mla", True):
        return read_latent(f, FAMILIES["deepseek_v2"])
    mixtures = rules.after_first_dense(f, f.layer_count())
    return decoder(f, [_expanded_layer(f, mixture) for mixture in mixtures])


def _expanded_layer(f: Fields, mixture: bool) -> Layer:
    hidden, heads, head_dim = f.whole("hidden_size"), f.whole("num_attention_heads"), head_dim_of(f)
    mixer = Attention(
        heads=heads,
        kv_heads=f.whole("num_key_value_heads", heads),
        head_dim=head_dim,
        value_dim=head_dim,
    )
    part = mixture_of(f) if mixture else FeedForward(intermediate=f.whole("intermediate_size"))
    bias = f.flag("attention_bias")
    tensors = attention(mixer, hidden, qkv_bias=bias, out_bias=bias)
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(*tensors, *feed_forward(hidden, part), *two_norms(f, mixture)),
    )


def read_kimi_k2(f: Fields) -> ModelSpec:
    """Kimi K2 is DeepSeek-V3 under another name; its class has no defaults of its own."""
    return read_latent(read_as(f, "deepseek_v3"), FAMILIES["deepseek_v3"])


def _reader(family: Family) -> Callable[[Fields], ModelSpec]:
    return lambda f: read_latent(f, family)


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **{model_type: _reader(family) for model_type, family in FAMILIES.items()},
    "deepseek_v2": read_deepseek_v2,
    "kimi_k2": read_kimi_k2,
    **latent_variants.READERS,
    **compressed.READERS,
    **glm5_next.READERS,
}
