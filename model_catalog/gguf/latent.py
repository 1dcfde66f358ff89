"""Config fields of architectures with multi-head latent attention (MLA)."""

from typing import Any

from model_catalog.gguf.facts import HEADS, Facts


def latent(facts: Facts) -> dict[str, Any]:
    """Files from March 2025 on hold the lengths of keys and values in *_mla, and the latent's in their place."""
    f = facts.fields
    rotated = f.whole("rope.dimension_count", minimum=0)
    key = f.whole("attention.key_length_mla", f.whole("attention.key_length"))
    heads = max(facts.each(HEADS))
    width = f.whole("embedding_length") // max(heads, 1)
    value = f.whole("attention.value_length_mla", f.whole("attention.value_length", max(width, 1)))
    if rotated > key:
        raise f.error("rope.dimension_count", f"at most the key's length, {key:,},")
    return {
        "q_lora_rank": f.whole_or_none("attention.q_lora_rank", minimum=0) or None,
        "kv_lora_rank": f.whole("attention.kv_lora_rank"),
        "qk_rope_head_dim": rotated,
        "qk_nope_head_dim": key - rotated,
        "v_head_dim": value,
        "num_key_value_heads": heads,
    }


def indexer(facts: Facts) -> dict[str, Any]:
    """The keys by which sparse attention chooses; where the file lists layers without one, those share."""
    f = facts.fields
    own = facts.flags("attention.indexer.types")
    return {
        "index_n_heads": f.whole("attention.indexer.head_count"),
        "index_head_dim": f.whole("attention.indexer.key_length"),
        "index_topk": f.whole("attention.indexer.top_k"),
        **({} if own is None else {"indexer_types": ["full" if each else "shared" for each in own]}),
    }


def compressed(facts: Facts) -> dict[str, Any]:
    """DeepSeek-V4: a window everywhere, and compressed entries as compress_ratios says for each layer."""
    f = facts.fields
    return {
        "compress_ratios": f.items("attention.compress_ratios", int),  # prediction layers may have entries too
        "sliding_window": f.whole("attention.sliding_window"),
        "qk_rope_head_dim": f.whole("rope.dimension_count", minimum=0),
        "q_lora_rank": f.whole("attention.q_lora_rank"),
        "o_groups": f.whole("attention.output_group_count"),
        "o_lora_rank": f.whole("attention.output_lora_rank"),
        "hc_mult": f.whole("hyper_connection.count"),
        "index_n_heads": f.whole("attention.indexer.head_count"),
        "index_head_dim": f.whole("attention.indexer.key_length"),
        "index_topk": f.whole("attention.indexer.top_k"),
    }
