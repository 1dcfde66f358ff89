"""Config fields of architectures with windowed or chunked layers."""

from typing import Any

from model_catalog.gguf.facts import FEED_FORWARD, KV_HEADS, Facts
from model_catalog.gguf.parts import Part
from model_catalog.layer_kinds import CHUNKED, FULL, SLIDING

WINDOW = "attention.sliding_window"
LLAMA4_CHUNK = 8192  # llama.cpp src/models/llama4.cpp; files do not state it
GEMMA3N_OWN_CACHE = 20  # llama.cpp src/models/gemma3n.cpp: layers from this one on read the cache of earlier ones
EXAONE4_LAYERS = 64  # llama.cpp src/models/exaone4.cpp: only the larger model has windows
EXAONE4_WINDOW = 4096


def layers(period: int, default: int | None = None, *, full_first: bool = False) -> Part:
    """One full layer in each period unless the file lists them; `default` is the window of files that state none."""

    def part(facts: Facts) -> dict[str, Any]:
        window = facts.fields.whole(WINDOW, default)
        return {"sliding_window": window, "layer_types": facts.kinds(period, full_first=full_first)}

    return part


def layers_if_stated(period: int) -> Part:
    """As `layers`, where the file states a window; else every layer is full."""

    def part(facts: Facts) -> dict[str, Any]:
        window = facts.fields.whole(WINDOW, 0, minimum=0)
        if not window:
            return {"layer_types": [FULL] * facts.layers}
        return {"sliding_window": window, "layer_types": facts.kinds(period)}

    return part


def everywhere(facts: Facts) -> dict[str, Any]:
    """The same window in every layer, as the model's own class has it; llama.cpp takes no notice of it (phi3.cpp)."""
    return {"sliding_window": facts.fields.whole(WINDOW, 0, minimum=0) or None}


def not_stated(facts: Facts) -> dict[str, Any]:
    """llama.cpp knows no window of this type, whose own class has one."""
    facts.fields.doubt(WINDOW, "The file states no window; every layer is counted at full length.", weights=False)
    return {}


def exaone4(facts: Facts) -> dict[str, Any]:
    if facts.layers != EXAONE4_LAYERS:
        return {"layer_types": [FULL] * facts.layers}
    return layers(4, EXAONE4_WINDOW)(facts)


def llama4(facts: Facts) -> dict[str, Any]:
    """Chunks, but where the file states a window of 0."""
    dense = {
        "intermediate_size_mlp": max(facts.alike(FEED_FORWARD), 1),
        "interleave_moe_layer_step": facts.fields.whole("interleave_moe_layer_step", 1),
    }
    if facts.fields.raw(WINDOW) == 0:
        return {**dense, "attention_chunk_size": None, "layer_types": [FULL] * facts.layers}
    kinds = [CHUNKED if kind == SLIDING else FULL for kind in facts.kinds(4)]
    return {**dense, "attention_chunk_size": LLAMA4_CHUNK, "layer_types": kinds}


def gemma3n(facts: Facts) -> dict[str, Any]:
    return {
        "num_kv_shared_layers": max(facts.layers - GEMMA3N_OWN_CACHE, 0),
        "intermediate_size": facts.each(FEED_FORWARD),
        "altup_num_inputs": facts.fields.whole("altup.num_inputs", 4),
        "hidden_size_per_layer_input": facts.fields.whole("embedding_length_per_layer_input", 256, minimum=0),
    }


def gemma4(facts: Facts) -> dict[str, Any]:
    """Full layers have heads of another size and, where the file lists KV heads by layer, another number of them."""
    f = facts.fields
    by_layer = list(zip(facts.kinds(6), facts.each(KV_HEADS), strict=True))
    windowed = facts_alike(facts, {kv for kind, kv in by_layer if kind == SLIDING})
    full = facts_alike(facts, {kv for kind, kv in by_layer if kind == FULL})
    widths = facts.each(FEED_FORWARD)
    mixture = f.whole("expert_count", 0, minimum=0)
    return {
        "head_dim": f.whole("attention.key_length_swa", facts.head_dim()),
        "global_head_dim": facts.head_dim(),
        "num_key_value_heads": windowed or full,
        "num_global_key_value_heads": full or windowed,
        "attention_k_eq_v": full != windowed,
        "num_kv_shared_layers": f.whole("attention.shared_kv_layers", 0, minimum=0),
        "intermediate_size": min(widths),
        "use_double_wide_mlp": max(widths) == 2 * min(widths),
        "hidden_size_per_layer_input": f.whole("embedding_length_per_layer_input", 0, minimum=0),
        "enable_moe_block": bool(mixture),
        "num_experts": mixture,
        "top_k_experts": facts.alike("expert_used_count", 1),
        "moe_intermediate_size": facts.alike("expert_feed_forward_length", 1),
    }


def facts_alike(facts: Facts, values: set[int]) -> int:
    """The one value of all layers of a kind, 0 where there are none; where they differ, the largest, in doubt."""
    if len(values) > 1:
        facts.fields.doubt(KV_HEADS, "KV heads differ within layers of one kind; the largest number is taken.")
    return max(values, default=0)


def mimo2(facts: Facts) -> dict[str, Any]:
    """Windowed layers have twice the KV heads."""
    by_layer = list(zip(facts.kinds(6), facts.each(KV_HEADS), strict=True))
    full = facts_alike(facts, {kv for kind, kv in by_layer if kind == FULL})
    windowed = facts_alike(facts, {kv for kind, kv in by_layer if kind == SLIDING})
    return {
        "num_key_value_heads": max(full, 1),
        "swa_num_key_value_heads": windowed or 2 * full,
        "v_head_dim": facts.fields.whole("attention.value_length", facts.head_dim()),
    }
