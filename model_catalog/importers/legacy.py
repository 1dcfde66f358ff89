"""Decoders whose configs use older field names (GPT-2, Falcon, MPT, OPT, ...), as transformers 5.24 has them.

Only Falcon, DBRX, JetMoE and GPT-BigCode share key-value heads, and nearly all take head_dim from the width.
"""

from dataclasses import replace

from model_catalog import layer_kinds as kinds
from model_catalog.blocks.linear import linear, norm, small
from model_catalog.fields import Fields
from model_catalog.importers.common import derived_head_dim, query_heads_of
from model_catalog.importers.families import norm_if
from model_catalog.importers.mixtures import Mixture, mixtral_experts
from model_catalog.importers.plain import Family, read_plain, readers, stated_intermediate
from model_catalog.spec import Attention, ModelSpec
from model_catalog.tensors import Shard, Tensor, TensorClass


def inner_or_fourfold(f: Fields) -> int:
    return f.whole("n_inner", 4 * f.whole("hidden_size"))


def fourfold(f: Fields) -> int:
    return 4 * f.whole("hidden_size")


def ffn_dim(f: Fields) -> int:
    return f.whole("ffn_dim")


def context_rows(f: Fields) -> int:
    return f.whole("max_position_embeddings")


def context_rows_and_two(f: Fields) -> int:
    """OPT and BioGPT keep two rows for padding."""
    return f.whole("max_position_embeddings") + 2


# Biases everywhere, LayerNorm, two-layer feed-forward: the shape of GPT-2's time
GPT = Family(
    kv_heads=query_heads_of,
    head_dim=derived_head_dim,
    qkv_bias=True,
    gated=False,
    mlp_bias=True,
    norm_bias=True,
    intermediate=inner_or_fourfold,
)
GPT2 = replace(GPT, position_rows=context_rows)
GPTJ = replace(GPT, qkv_bias=False, norms=1, head_bias=True)


def read_gpt2(f: Fields) -> ModelSpec:
    """GPT-2, and GPT-BigCode with its one key-value head (multi_query)."""
    if f.flag("add_cross_attention"):
        f.doubt("add_cross_attention", "Cross attention to an encoder is not counted.")
    return read_plain(f, replace(GPT2, kv_heads=_multi_query_heads))


def _multi_query_heads(f: Fields) -> int:
    return 1 if f.flag("multi_query") else query_heads_of(f)


def read_openai_gpt(f: Fields) -> ModelSpec:
    f.doubt("model_type", "transformers keeps no cache for openai-gpt; counted is what one would take.")
    return read_plain(f, replace(GPT2, final_norm=False, intermediate=fourfold))


def read_gpt_neo(f: Fields) -> ModelSpec:
    """GPT-Neo: attention_types are pairs of a pattern of "global" and "local" and how often it repeats."""
    return read_plain(f, GPT_NEO)


def _attention_types(f: Fields) -> list[str]:
    pairs = f.items("attention_types", list) or [[["global", "local"], 12]]
    names: list[str] = []
    for pair in pairs:
        match pair:
            case [list(pattern), int(times)] if 0 <= times * len(pattern) <= 4096 - len(names):
                names += pattern * times
            case _:
                raise f.error("attention_types", "a list of [[kinds of layers], how often] pairs")
    return names


def neo_kinds(f: Fields, layers: int) -> list[str]:
    """The list that saved files carry beside attention_types goes first, as in the class."""
    stated = f.items("attention_layers", str)
    names = _attention_types(f) if stated is None else stated
    if len(names) != layers:
        raise f.error(
            "attention_types" if stated is None else "attention_layers", f"an entry for each of {layers:,} layers"
        )
    spellings = {"global": kinds.FULL, "local": kinds.SLIDING}
    return [spellings.get(str(name), str(name)) for name in names]


GPT_NEO = replace(
    GPT2,
    layer_kinds=neo_kinds,
    window=lambda f: f.whole("window_size", 256),
    qkv_bias=False,
    out_bias=True,
    intermediate=lambda f: f.whole("intermediate_size", 4 * f.whole("hidden_size")),
)


def read_opt(f: Fields) -> ModelSpec:
    """OPT, whose embedding may be narrower than the layers (350M), with projections between them."""
    affine = f.flag("layer_norm_elementwise_affine", True)
    last = f.flag("do_layer_norm_before", True) and not f.flag("_remove_final_layer_norm")
    family = replace(
        GPT,
        qkv_bias="enable_bias",
        mlp_bias="enable_bias",
        intermediate=ffn_dim,
        norms=2 if affine else 0,
        final_norm=affine and last,
        position_rows=context_rows_and_two,
    )
    spec = read_plain(f, family)
    width = f.whole("word_embed_proj_dim", spec.hidden_size)
    return spec if width == spec.hidden_size else replace(spec, tensors=_projected(spec, width))


def _projected(spec: ModelSpec, width: int) -> tuple[Tensor, ...]:
    ends = (TensorClass.EMBEDDING, TensorClass.LM_HEAD)
    tensors = [
        replace(tensor, shape=(tensor.shape[0], width))
        if tensor.kind in ends and tensor.shard is Shard.VOCAB
        else tensor
        for tensor in spec.tensors
    ]
    return (
        *tensors,
        *linear("model.decoder.project_in", spec.hidden_size, width, TensorClass.EMBEDDING),
        *linear("model.decoder.project_out", width, spec.hidden_size, TensorClass.LM_HEAD),
    )


def read_bloom(f: Fields) -> ModelSpec:
    """BLOOM; older configs write n_embed for the width."""
    f = f.described({"hidden_size": "n_embed"}) if f.raw("n_embed") is not None else f
    return read_plain(f, replace(GPT, intermediate=fourfold, outside=_embedding_norm))


def _embedding_norm(f: Fields) -> tuple[Tensor, ...]:
    return norm("transformer.word_embeddings_layernorm", f.whole("hidden_size"), bias=True)


def read_mpt(f: Fields) -> ModelSpec:
    """MPT without biases and without learned positions, as transformers has it."""
    part = f.part("attn_config") or f.described()
    if part.text("attn_type", "multihead_attention") != "multihead_attention" or part.raw("kv_n_heads"):
        f.doubt("attn_config", "transformers' MPT knows no shared key-value heads; all heads are counted.")
    if not f.flag("no_bias", True) or part.flag("qk_ln") or not part.flag("alibi", True):
        f.doubt("attn_config", "Biases, query norms and learned positions of MPT are not counted.", kv=False)
    family = replace(GPT, qkv_bias=False, mlp_bias=False, norm_bias=False, intermediate=fourfold)
    return read_plain(f, family)


def read_falcon(f: Fields) -> ModelSpec:
    """Falcon; its first configs (RefinedWeb) have n_layer, n_head and n_head_kv."""
    names = {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "num_kv_heads": "n_head_kv"}
    names["hidden_size"] = "n_embed"
    return read_plain(f.described({ours: own for ours, own in names.items() if f.has(own)}), FALCON)


def falcon_kv_heads(f: Fields) -> int:
    if f.flag("new_decoder_architecture") or not f.flag("multi_query", True):
        return f.whole("num_kv_heads", f.whole("num_attention_heads"))
    return 1


def _falcon_norms(f: Fields) -> int:
    stated = f.whole_or_none("num_ln_in_parallel_attn")
    parallel = 2 if f.flag("new_decoder_architecture") and stated is None else stated
    return 2 if not f.flag("parallel_attn", True) or parallel == 2 else 1


FALCON = replace(
    GPT,
    kv_heads=falcon_kv_heads,
    qkv_bias="bias",
    mlp_bias="bias",
    norms=_falcon_norms,
    intermediate=lambda f: f.whole("ffn_hidden_size", 4 * f.whole("hidden_size")),
)


def read_dbrx(f: Fields) -> ModelSpec:
    family = Family(
        kv_heads=_dbrx_kv_heads, head_dim=derived_head_dim, qkv_bias=False, mixture=_dbrx_experts, tied=False
    )
    return read_plain(f, family)


def _dbrx_kv_heads(f: Fields) -> int:
    part = f.part("attn_config")
    return part.whole("kv_n_heads", 1) if part else 1


def _dbrx_experts(f: Fields, index: int) -> Mixture:
    part = f.part("ffn_config") or f.described()
    count, top_k = part.whole("moe_num_experts", 4), part.whole("moe_top_k", 1)
    return Mixture(experts=count, top_k=top_k, intermediate=part.whole("ffn_hidden_size", 3584))


def jetmoe_attention(f: Fields, mixer: Attention) -> tuple[Tensor, ...]:
    """JetMoE: queries and outputs are experts too; keys and values are shared by them."""
    hidden, count = f.whole("hidden_size"), f.whole("num_local_experts")
    width = mixer.kv_heads * mixer.head_dim
    name, expert, units = "self_attention", TensorClass.EXPERT, mixer.kv_heads
    return (
        *linear(f"{name}.kv_proj", 2 * width, hidden, TensorClass.ATTENTION, Shard.COLUMN, units=units),
        Tensor(f"{name}.experts.input_linear", expert, (width, hidden), Shard.EXPERT, count),
        Tensor(f"{name}.experts.output_linear", expert, (hidden, width), Shard.EXPERT, count),
        *linear(f"{name}.experts.router.layer", count, hidden, TensorClass.ROUTER),
        *small("experts.bias", 2, hidden),
    )


def read_jetmoe(f: Fields) -> ModelSpec:
    """JetMoE has num_experts_per_tok query heads for each key-value head, whatever else the file says."""
    heads = f.whole("num_key_value_heads") * f.whole("num_experts_per_tok")
    data = {**f.data, "num_attention_heads": heads}
    family = Family(head_dim=lambda f: f.whole("kv_channels"), own_attention=jetmoe_attention, mixture=mixtral_experts)
    own = Fields(data, f.model_type, f.path)
    own.reading = f.reading
    return read_plain(own, family)


def read_neox_japanese(f: Fields) -> ModelSpec:
    """No biases but one on the last layer's attention output."""
    family = replace(
        GPT,
        qkv_bias=False,
        mlp_bias=False,
        intermediate=lambda f: f.whole("intermediate_multiple_size") * f.whole("hidden_size"),
        outside=lambda f: small("attention.dense_bias", f.whole("hidden_size")),
    )
    return read_plain(f, family)


FAMILIES: dict[str, Family] = {
    "biogpt": replace(GPT, intermediate=stated_intermediate, position_rows=context_rows_and_two),
    "codegen": GPTJ,
    "ctrl": replace(GPT, intermediate=lambda f: f.whole("dff"), head_bias=True),
    "gpt_neox": replace(GPT, qkv_bias="attention_bias", intermediate=stated_intermediate),
    "gptj": GPTJ,
    "persimmon": replace(
        GPT,
        intermediate=stated_intermediate,
        qk_norm=norm_if("qk_layernorm", "head"),
        qk_norm_bias=True,
    ),
    "xglm": replace(GPT, intermediate=ffn_dim),
}
READERS = {
    **readers(FAMILIES),
    "bloom": read_bloom,
    "dbrx": read_dbrx,
    "falcon": read_falcon,
    "RefinedWeb": read_falcon,
    "RefinedWebModel": read_falcon,
    "gpt2": read_gpt2,
    "gpt-sw3": read_gpt2,
    "gpt_bigcode": read_gpt2,
    "gpt_neo": read_gpt_neo,
    "gpt_neox_japanese": read_neox_japanese,
    "jetmoe": read_jetmoe,
    "mpt": read_mpt,
    "openai-gpt": read_openai_gpt,
    "opt": read_opt,
}
