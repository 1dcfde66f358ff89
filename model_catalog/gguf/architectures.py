"""GGUF metadata as a config.json: for each architecture of llama.cpp the model type and its own field names.

Sources: llama.cpp conversion/*.py (what each field of a config.json becomes) and src/models/*.cpp (what is taken where
the file is silent), commit 0c1e5709.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from model_catalog.gguf import hybrids, latent, windows
from model_catalog.gguf.facts import FEED_FORWARD, HEADS, KV_HEADS, Facts
from model_catalog.gguf.parts import Part, expert_width, experts, per_token

NOT_ALIKE = {HEADS: "num_attention_heads", KV_HEADS: "num_key_value_heads", FEED_FORWARD: "intermediate_size"}


@dataclass(frozen=True, slots=True)
class Architecture:
    """`parts` add the type's own fields; the metadata arrays in `own` are among what they read.

    `without`: usual fields that the type does not have, for it derives them or states them in another way.
    """

    model_type: str | Callable[[Facts], str]
    parts: tuple[Part, ...] = ()
    own: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()


def plain(model_type: str | Callable[[Facts], str], *parts: Part) -> Architecture:
    return Architecture(model_type, parts)


def lacking(without: set[str], model_type: str, *parts: Part) -> Architecture:
    return Architecture(model_type, parts, without=frozenset(without))


def uneven(model_type: str, *parts: Part) -> Architecture:
    """An architecture whose parts read KV heads and feed-forward widths layer by layer."""
    return Architecture(model_type, parts, frozenset({KV_HEADS, FEED_FORWARD}))


def llama_type(facts: Facts) -> str:
    """Mixtral goes by the name of Llama."""
    return "mixtral" if facts.fields.raw("expert_count") else "llama"


def olmo2_type(facts: Facts) -> str:
    return "olmo3" if facts.fields.raw("attention.sliding_window") else "olmo2"


def granite_moe_type(facts: Facts) -> str:
    return "granitemoeshared" if facts.fields.raw("expert_shared_feed_forward_length") else "granitemoe"


def as_many_kv_heads(facts: Facts) -> dict[str, Any]:
    """A type whose heads all have keys of their own and that has no field to say so."""
    if facts.alike(KV_HEADS, max(facts.each(HEADS))) != max(facts.each(HEADS)):
        facts.fields.doubt(KV_HEADS, "Each head is counted with keys of its own, as the type has it.")
    return {}


def one_kv_head(facts: Facts) -> dict[str, Any]:
    return {"multi_query": True}


def qwen_shared(facts: Facts) -> dict[str, Any]:
    """The shared expert; in files that do not state its width it is as wide as a dense layer."""
    stated = facts.fields.whole("expert_shared_feed_forward_length", 0, minimum=0)
    return {"shared_expert_intermediate_size": stated or max(*facts.each(FEED_FORWARD, 1), 1)}


def every_layer_sparse(facts: Facts) -> dict[str, Any]:
    return {"decoder_sparse_step": 1}


def dbrx(facts: Facts) -> dict[str, Any]:
    f = facts.fields
    sizes = {"moe_num_experts": f.whole("expert_count"), "moe_top_k": f.whole("expert_used_count")}
    return {
        "attn_config": {"kv_n_heads": facts.alike(KV_HEADS)},
        "ffn_config": {**sizes, "ffn_hidden_size": facts.alike(FEED_FORWARD)},
    }


def falcon(facts: Facts) -> dict[str, Any]:
    return {"new_decoder_architecture": True, "num_kv_heads": facts.alike(KV_HEADS, 1)}


def qwen1(facts: Facts) -> dict[str, Any]:
    """Its files state the width of gate and up projection together, as its config does."""
    return {"kv_channels": facts.head_dim()}


def ernie_moe(facts: Facts) -> dict[str, Any]:
    f = facts.fields
    return {
        "moe_num_experts": f.whole("expert_count"),
        "moe_k": facts.alike("expert_used_count"),
        "moe_intermediate_size": facts.alike("expert_feed_forward_length", 1),
        "moe_num_shared_experts": f.whole("expert_shared_count", 0, minimum=0),
        "moe_layer_start_index": f.whole("leading_dense_block_count", 0, minimum=0),
        "moe_layer_interval": f.whole("interleave_moe_layer_step", 1),
    }


def hunyuan_moe(facts: Facts) -> dict[str, Any]:
    return {"num_experts": facts.fields.whole("expert_count"), "moe_topk": facts.alike("expert_used_count")}


KV = "num_key_value_heads"
EXPERTS, LOCAL, ROUTED = experts("num_experts"), experts("num_local_experts"), experts("n_routed_experts")
FIRST_DENSE = per_token("first_k_dense_replace", "leading_dense_block_count")
SHARED = per_token("n_shared_experts", "expert_shared_count")
NUM_SHARED = per_token("num_shared_experts", "expert_shared_count")
DRAFTS = per_token("num_nextn_predict_layers", "nextn_predict_layers")

ARCHITECTURES: Mapping[str, Architecture] = {
    "afmoe": plain(
        "afmoe",
        windows.layers(4),
        EXPERTS,
        NUM_SHARED,
        per_token("num_dense_layers", "leading_dense_block_count"),
    ),
    "apertus": plain("apertus"),
    "arcee": plain("arcee"),
    "baichuan": lacking({KV}, "baichuan", as_many_kv_heads),
    "bailingmoe": plain("bailing_moe", EXPERTS, NUM_SHARED, FIRST_DENSE),
    "bailingmoe2": plain(
        "bailing_moe_v2",
        EXPERTS,
        NUM_SHARED,
        FIRST_DENSE,
        DRAFTS,
    ),
    "bitnet": plain("bitnet"),
    "bloom": lacking({KV, "head_dim"}, "bloom", as_many_kv_heads),
    "chatglm": plain("glm"),
    "command-r": plain("cohere"),
    "cohere2": plain("cohere2", windows.layers(4)),
    "cohere2moe": plain(
        "cohere2_moe", windows.layers(4, full_first=True), EXPERTS, expert_width("intermediate_size"), NUM_SHARED
    ),
    "dbrx": lacking({KV, "head_dim"}, "dbrx", dbrx),
    "deci": Architecture("nemotron-nas", (hybrids.nas_blocks,), frozenset(NOT_ALIKE), frozenset({KV})),
    "deepseek": plain("deepseek", ROUTED, SHARED, FIRST_DENSE),
    "deepseek2": plain("deepseek_v3", latent.latent, ROUTED, SHARED, FIRST_DENSE, DRAFTS),
    "deepseek32": plain("deepseek_v32", latent.latent, latent.indexer, ROUTED, SHARED, FIRST_DENSE, DRAFTS),
    "deepseek4": plain("deepseek_v4", latent.compressed, ROUTED, SHARED, DRAFTS),
    "dots1": plain("dots1", ROUTED, SHARED, FIRST_DENSE),
    "ernie4_5": plain("ernie4_5"),
    "ernie4_5-moe": plain("ernie4_5_moe", ernie_moe),
    "exaone": plain("exaone"),
    "exaone4": plain("exaone4", windows.exaone4),
    "exaone-moe": plain("exaone_moe", windows.layers(4, 128), EXPERTS, NUM_SHARED, FIRST_DENSE),
    "falcon": lacking({KV, "head_dim"}, "falcon", falcon),
    "falcon-h1": plain("falcon_h1", hybrids.falcon_h1),
    "gemma": plain("gemma"),
    "gemma2": plain("gemma2", windows.layers(2, 4096)),
    "gemma3": plain("gemma3_text", windows.layers_if_stated(6)),
    "gemma3n": uneven("gemma3n_text", windows.layers(5), windows.gemma3n),
    "gemma4": uneven("gemma4_text", windows.layers(6), windows.gemma4),
    "glm4": plain("glm4", DRAFTS),
    "glm4moe": plain("glm4_moe", ROUTED, SHARED, FIRST_DENSE, DRAFTS),
    "glm-dsa": plain("glm_moe_dsa", latent.latent, latent.indexer, ROUTED, SHARED, FIRST_DENSE, DRAFTS),
    "gpt-oss": plain("gpt_oss", windows.layers(2), LOCAL, expert_width("intermediate_size")),
    "gpt2": lacking({KV, "head_dim"}, "gpt2", as_many_kv_heads),
    "gptneox": lacking({KV, "head_dim"}, "gpt_neox", as_many_kv_heads),
    "granite": plain("granite"),
    "granitemoe": plain(
        granite_moe_type, LOCAL, per_token("shared_intermediate_size", "expert_shared_feed_forward_length")
    ),
    "granitehybrid": uneven("granitemoehybrid", hybrids.granite),
    "hunyuan-dense": plain("hunyuan_v1_dense"),
    "hunyuan-moe": plain("hunyuan_v1_moe", hunyuan_moe),
    "internlm2": plain("internlm2"),
    "jamba": uneven("jamba", hybrids.jamba),
    "kimi-linear": uneven("kimi_linear", latent.latent, hybrids.kimi_linear, EXPERTS, SHARED, FIRST_DENSE),
    "lfm2": uneven("lfm2", hybrids.lfm2),
    "lfm2moe": uneven("lfm2_moe", hybrids.lfm2, EXPERTS, per_token("num_dense_layers", "leading_dense_block_count")),
    "llama": plain(llama_type, LOCAL),
    "llama4": plain("llama4_text", windows.llama4, LOCAL, expert_width("intermediate_size")),
    "mamba": lacking({"num_attention_heads", KV, "head_dim"}, "mamba", hybrids.mamba),
    "mamba2": lacking({"num_attention_heads", KV}, "mamba2", hybrids.mamba2),
    "mimo2": uneven("mimo_v2_flash", windows.layers(6), windows.mimo2, ROUTED),
    "minicpm": plain("minicpm", EXPERTS),
    "minicpm3": plain("minicpm3", latent.latent),
    "minimax-m2": plain("minimax_m2", LOCAL, expert_width("intermediate_size")),
    "mistral3": plain("ministral3"),
    "mistral4": plain("mistral4", latent.latent, ROUTED, SHARED, FIRST_DENSE),
    "mpt": lacking({KV, "head_dim"}, "mpt", as_many_kv_heads),
    "nemotron": plain("nemotron"),
    "nemotron_h": uneven("nemotron_h", hybrids.nemotron_h),
    "nemotron_h_moe": uneven("nemotron_h", hybrids.nemotron_h, ROUTED, hybrids.nemotron_experts),
    "olmo": plain("olmo"),
    "olmo2": plain(olmo2_type, windows.layers_if_stated(4)),
    "olmoe": plain("olmoe", EXPERTS),
    "orion": plain("orion"),
    "phi2": plain("phi"),
    "phi3": plain("phi3", windows.everywhere),
    "phimoe": plain("phimoe", windows.everywhere, LOCAL),
    "qwen": lacking({KV}, "qwen", qwen1, as_many_kv_heads),
    "qwen2": plain("qwen2"),
    "qwen2moe": plain("qwen2_moe", EXPERTS, qwen_shared),
    "qwen2vl": plain("qwen2_vl_text"),
    "qwen3": plain("qwen3"),
    "qwen3moe": plain("qwen3_moe", EXPERTS),
    "qwen3next": plain("qwen3_next", hybrids.qwen_delta, EXPERTS, qwen_shared, DRAFTS, every_layer_sparse),
    "qwen3vl": plain("qwen3_vl_text"),
    "qwen3vlmoe": plain("qwen3_vl_moe_text", EXPERTS),
    "qwen35": plain("qwen3_5_text", hybrids.qwen_delta),
    "qwen35moe": plain("qwen3_5_moe_text", hybrids.qwen_delta, EXPERTS, qwen_shared),
    "seed_oss": plain("seed_oss"),
    "smollm3": plain("smollm3"),
    "stablelm": lacking({"head_dim"}, "stablelm"),
    "starcoder": lacking({KV, "head_dim"}, "gpt_bigcode", one_kv_head),
    "starcoder2": plain("starcoder2", windows.not_stated),
    "pangu-embedded": plain("PanguEmbedded"),
    "xverse": lacking({KV}, "xverse", as_many_kv_heads),
}


def config_of(facts: Facts) -> dict[str, Any]:
    """The config.json that the metadata amount to. Without a row here the type gets a name that no reader knows."""
    row = ARCHITECTURES.get(facts.arch) or Architecture(f"{facts.arch} (GGUF)", (_as_stated,))
    config = _common(facts, row.own)
    for part in row.parts:
        config |= part(facts)
    config = {name: value for name, value in config.items() if name not in row.without}
    config["model_type"] = row.model_type if isinstance(row.model_type, str) else row.model_type(facts)
    return config


def _common(facts: Facts, own: frozenset[str]) -> dict[str, Any]:
    f = facts.fields
    heads = max(facts.each(HEADS, 1))
    defaults = {HEADS: 1, KV_HEADS: heads, FEED_FORWARD: 1}
    alike = {
        name: max(facts.each(key, defaults[key])) if key in own else facts.alike(key, defaults[key])
        for key, name in NOT_ALIKE.items()
    }
    return {
        **{name: max(value, 1) for name, value in alike.items()},  # without attention or feed-forward it is 0
        "num_hidden_layers": facts.layers,
        "hidden_size": f.whole("embedding_length"),
        "head_dim": facts.head_dim(),
        "vocab_size": facts.vocabulary(),
        "max_position_embeddings": f.whole_or_none("context_length"),
        "tie_word_embeddings": bool(facts.tensors) and "output.weight" not in facts.tensors,
        "sliding_window": None,
        **_rope(facts),
    }


def _rope(facts: Facts) -> dict[str, Any]:
    f = facts.fields
    rotated = f.whole_or_none("rope.dimension_count", minimum=0)
    kind, factor = f.raw("rope.scaling.type"), f.number("rope.scaling.factor", 1.0)
    scaling = {"rope_type": kind, "factor": factor} if kind in ("linear", "yarn", "longrope") else {}
    original = f.whole_or_none("rope.scaling.original_context_length")
    return {
        "rope_theta": f.number("rope.freq_base", 10_000.0),
        **({"rotary_dim": rotated} if rotated else {}),
        **({"rope_scaling": scaling} if scaling else {}),
        **({"original_max_position_embeddings": original} if original else {}),
    }


def _as_stated(facts: Facts) -> dict[str, Any]:
    """What the reader of unknown types makes use of."""
    f = facts.fields
    window = f.whole_or_none("attention.sliding_window", minimum=1) if f.raw("attention.sliding_window") else None
    return {
        **({"sliding_window": window, "layer_types": facts.kinds(0)} if window else {}),
        **({"kv_lora_rank": f.raw("attention.kv_lora_rank")} if f.raw("attention.kv_lora_rank") else {}),
        **(EXPERTS(facts) if f.raw("expert_count") else {}),
    }
