"""Latent-attention decoders that go beyond one row of a table: LongCat, Mistral Large 4, dots 3, Hunyuan 4."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.blocks.feed_forward import dense, experts, router
from model_catalog.blocks.hyper import hyper_connection, hyper_head
from model_catalog.blocks.latent import latent_attention, lightning_indexer
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.blocks.mixture import feed_forward
from model_catalog.fields import MOST_LAYERS, Fields
from model_catalog.importers import latent_rules as rules
from model_catalog.importers.decoder import decoder, overlaid, overrides, per_layer, read_as
from model_catalog.importers.latent_parts import (
    attention_tensors,
    indexer_of,
    mixer_of,
    mixture_of,
    two_norms,
)
from model_catalog.importers.towers import read_towers
from model_catalog.spec import FeedForward, LatentAttention, Layer, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass


def read_longcat(f: Fields) -> ModelSpec:
    """LongCat-Flash: a layer has two attentions and two dense parts, and one mixture that bridges them."""
    rules.doubt_foreign_windows(f)
    layers = _longcat_layers(f)
    if f.whole("zero_expert_num", 0, minimum=0):
        f.doubt(
            "zero_expert_num",
            "Zero experts are counted without weights, as the checkpoint has them; transformers makes room for some.",
            kv=False,
        )
    return decoder(f, [_longcat_layer(f)] * layers)


def _longcat_layers(f: Fields) -> int:
    """num_layers; num_hidden_layers counts attentions, two a layer, and wins where it is stated."""
    if "num_hidden_layers" in f.data:
        return max(f.layer_count() // 2, 1)
    return f.whole("num_layers", maximum=MOST_LAYERS // 2)


def _longcat_layer(f: Fields) -> Layer:
    hidden, size, dense_size = (
        f.whole("hidden_size"),
        f.whole("expert_ffn_hidden_size"),
        f.whole("ffn_hidden_size"),
    )
    routed, idle = f.whole("n_routed_experts", minimum=0), f.whole("zero_expert_num", 0, minimum=0)
    mixer = mixer_of(f)
    halves = [
        (*attention_tensors(f, mixer), *dense(hidden, dense_size, prefix="mlps"), *two_norms(f, False)) for _ in "12"
    ]
    return Layer(
        mixers=(mixer, mixer),
        feed_forward=FeedForward(
            intermediate=size, experts=routed, top_k=f.whole("moe_topk"), shared_intermediate=2 * dense_size
        ),
        tensors=(
            *halves[0],
            *halves[1],
            *router(hidden, routed + idle, prefix="mlp.router.classifier", bias=f.flag("router_bias")),
            *experts(hidden, size, routed),
        ),
    )


def read_mistral_large4(f: Fields) -> ModelSpec:
    """Mistral Large 4: full-rank queries, layers without rotation, and latents shared between layers."""
    layers = f.layer_count()
    mixtures = rules.stated_mixtures(rules.after_first_dense)(f, layers)
    owns_indexer = rules.indexer_layers(f, layers)
    rotated, sources = _rotated_layers(f, layers), _source_layers(f, layers)
    built = [_large4_layer(f, mixtures[i], owns_indexer[i], rotated[i], sources[i] != i) for i in range(layers)]
    return decoder(f, built, extra=small("model.rotary_emb.alpha", f.whole("qk_rope_head_dim") // 2))


def _rotated_layers(f: Fields, layers: int) -> list[bool]:
    """no_rope_layers has a 1 for a layer WITH rotation; by default every fourth layer has none."""
    stated = f.items("no_rope_layers", int)
    if stated is None:
        every = f.whole("no_rope_layer_interval", 4)
        return [(i + 1) % every != 0 for i in range(layers)]
    if len(stated) != layers:
        raise f.error("no_rope_layers", f"a list of {layers:,} whole numbers")
    return [bool(each) for each in stated]


def _source_layers(f: Fields, layers: int) -> list[int]:
    """Whose latents each layer reads: its own by default."""
    stated = f.items("kv_source_layers", int)
    if stated is None:
        return list(range(layers))
    if len(stated) != layers or any(
        not 0 <= source <= i or stated[source] != source for i, source in enumerate(stated)
    ):
        raise f.error("kv_source_layers", f"the index of a layer that owns its cache, for each of {layers:,} layers")
    return stated


def _large4_layer(f: Fields, mixture: bool, indexer: bool, rotated: bool, reuses: bool) -> Layer:
    hidden = f.whole("hidden_size")
    mixer = replace(mixer_of(f), reuses_cache=reuses, indexer=indexer_of(f) if indexer else None)
    if not rotated:
        mixer = replace(mixer, rope_dim=0, nope_dim=mixer.nope_dim + mixer.rope_dim)
    part = mixture_of(f) if mixture else FeedForward(intermediate=f.whole("intermediate_size"))
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(*_large4_attention(f, mixer), *feed_forward(hidden, part), *two_norms(f, mixture)),
    )


def _large4_attention(f: Fields, mixer: LatentAttention) -> tuple[Tensor, ...]:
    """A layer that reads another's latents has no down projection; the indexer reads the hidden state."""
    hidden = f.whole("hidden_size")
    tensors = latent_attention(mixer, hidden, query_rank=None, bias=f.flag("attention_bias"))
    if mixer.reuses_cache:
        tensors = tuple(tensor for tensor in tensors if ".kv_a_" not in tensor.name)
    tensors = (*tensors, *small("self_attn.softmax_scaling", 2, mixer.heads))
    if mixer.indexer is None:
        return tensors
    return (
        *tensors,
        *lightning_indexer(mixer.indexer, hidden, query_rank=hidden),
        *norm("self_attn.indexer.q_input_norm", hidden, bias=True),
        *small("self_attn.indexer.softmax_scaling", 2, mixer.indexer.heads),
    )


DOTS3_KINDS = ("indexed_attention", "full_attention", "sliding_attention")
DOTS3_SLIDING = {
    "num_attention_heads": 64,
    "q_lora_rank": 1024,
    "kv_lora_rank": 1024,
    "head_dim": 256,
    "qk_nope_head_dim": 192,
    "v_head_dim": 128,
}  # defaults of the swa_ fields in the config class


def read_dots3(f: Fields) -> ModelSpec:
    """dots 3: windowed layers have latent dimensions of their own (swa_ fields or per_layer_config)."""
    layers = f.layer_count()
    kinds, mixtures = _dots3_kinds(f, layers), rules.stated_mixtures(_dots3_mixtures)(f, layers)
    stated = overrides(f, layers)
    own = stated or [_dots3_sliding(f) if kind == "sliding_attention" else {} for kind in kinds]
    return decoder(f, [_dots3_layer(f, overlaid(f, own[i]), kinds[i], mixtures[i]) for i in range(layers)])


def _dots3_mixtures(f: Fields, layers: int) -> list[bool]:
    """moe_layer_freq may be a list with a 0 or 1 for each layer."""
    if not isinstance(f.raw("moe_layer_freq"), list):
        return rules.at_frequency(f, layers)
    stated, first = f.items("moe_layer_freq", int) or [], f.whole("first_k_dense_replace", 1, minimum=0)
    if len(stated) < layers:
        raise f.error("moe_layer_freq", f"a list of {layers:,} whole numbers")
    return [i >= first and bool(stated[i]) for i in range(layers)]


def _dots3_kinds(f: Fields, layers: int) -> list[str]:
    """layer_types, else full at the ends of each group of four; use_dsa says which kind of full."""
    sparse: bool | None = f.flag("use_dsa") if f.raw("use_dsa") is not None else None
    if sparse is None and not f.has("per_layer_config"):
        sparse = True
    full = "full_attention" if sparse is False else "indexed_attention"
    stated = per_layer(f, "layer_types", layers, DOTS3_KINDS)
    if stated is None:
        windows = f.flag("use_sliding_window", True)
        return [full if not windows or i < 2 or i % 4 == 1 else "sliding_attention" for i in range(layers)]
    return stated if sparse is None else [kind if kind == "sliding_attention" else full for kind in stated]


def _dots3_layer(f: Fields, own: Fields, kind: str, mixture: bool) -> Layer:
    hidden = f.whole("hidden_size")
    window = f.whole("sliding_window", f.whole("sliding_window_size", 512)) if kind == "sliding_attention" else None
    indexer = replace(indexer_of(f), key_dtype="fp32") if kind == "indexed_attention" else None
    mixer = replace(mixer_of(own), window=window, indexer=indexer)
    part = FeedForward(intermediate=f.whole("intermediate_size"))
    if mixture:
        shared = f.whole("moe_shared_expert_intermediate_size", f.whole("shared_experts_intermediate_size"))
        part = replace(mixture_of(f), shared_intermediate=shared * f.whole("n_shared_experts"))
    gate = linear("self_attn.g_proj", mixer.heads, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=mixer.heads)
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention_tensors(own, mixer),
            *norm("self_attn.k_rope_only_layernorm", mixer.rope_dim),
            *gate,
            *feed_forward(hidden, part),
            *two_norms(f, mixture),
        ),
    )


def _dots3_sliding(f: Fields) -> dict[str, int]:
    own = {name: f.whole(f"swa_{name}", default) for name, default in DOTS3_SLIDING.items()}
    rope = f.whole_or_none("swa_qk_rope_head_dim")
    own["qk_rope_head_dim"] = max(own["head_dim"] - own["qk_nope_head_dim"], 0) if rope is None else rope
    return own


def read_dots3_wrapped(f: Fields) -> ModelSpec:
    """Published dots 3 files state the decoder's fields beside the towers, later ones in text_config."""
    stated = f.raw("text_config") is not None
    text = f.part("text_config") if stated else None
    spec = read_dots3(text or read_as(f, "dots3_note_text"))
    return replace(spec, model_type=f.model_type, towers=read_towers(f))


def read_hunyuan4(f: Fields) -> ModelSpec:
    """Hunyuan 4: sparse MLA with an output gate and sinks, and hyper-connections of a simpler kind."""
    layers, hidden, streams = f.layer_count(), f.whole("hidden_size"), f.whole("hc_mult")
    mixtures = rules.stated_mixtures(rules.after(1))(f, layers)
    indexers = _hunyuan4_indexers(f, layers)
    built = [_hunyuan4_layer(f, mixtures[i], indexers[i]) for i in range(layers)]
    return decoder(f, built, extra=hyper_head(hidden, streams))


def _hunyuan4_indexers(f: Fields, layers: int) -> list[bool]:
    """indexer_types, else the first layer and every fourth from the second on."""
    per_layer(f, "layer_types", layers, rules.INDEXED)
    stated = per_layer(f, "indexer_types", layers, ("full", "shared"))
    if stated is None:
        return [i == 0 or (i - 1) % 4 == 0 for i in range(layers)]
    return [kind != "shared" for kind in stated]


def _hunyuan4_layer(f: Fields, mixture: bool, indexer: bool) -> Layer:
    hidden, streams = f.whole("hidden_size"), f.whole("hc_mult")
    mixer = replace(mixer_of(f), indexer=indexer_of(f) if indexer else None)
    part = mixture_of(f) if mixture else FeedForward(intermediate=f.whole("intermediate_size"))
    gate = linear(
        "self_attn.gate_proj",
        mixer.heads * mixer.value_dim,
        hidden,
        TensorClass.ATTENTION,
        Shard.COLUMN,
        units=mixer.heads,
    )
    return Layer(
        mixers=(mixer,),
        feed_forward=part,
        tensors=(
            *attention_tensors(f, mixer),
            *gate,
            *small("self_attn.sinks", mixer.heads, dtype="fp32"),
            *feed_forward(hidden, part),
            *two_norms(f, mixture),
            *hyper_connection("attn_hc", hidden, streams, mixes=2 * streams, scales=2),
            *hyper_connection("ffn_hc", hidden, streams, mixes=2 * streams, scales=2),
        ),
    )


READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    "longcat_flash": read_longcat,
    "mistral_large4_text": read_mistral_large4,
    "dots3_note_text": read_dots3,
    "dots3_note": read_dots3_wrapped,
    "hy_v4": read_hunyuan4,
    "hy_v4_vl_text": read_hunyuan4,
}
