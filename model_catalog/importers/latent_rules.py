"""Which layers of a latent-attention model are mixtures of experts, and which own a sparse-attention indexer."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.importers.decoder import per_layer

Flags = Callable[[Fields, int], list[bool]]
INDEXED = ("indexed_attention", "deepseek_sparse_attention")


def no_layer(f: Fields, layers: int) -> list[bool]:
    return [False] * layers


def after(dense: int) -> Flags:
    """All but the first `dense` layers."""
    return lambda f, layers: [i >= dense for i in range(layers)]


def after_first_dense(f: Fields, layers: int) -> list[bool]:
    """Layers from first_k_dense_replace on are mixtures; remote code may thin them out by moe_layer_freq."""
    if expert_count(f) == 0:
        return no_layer(f, layers)
    if f.raw("moe_layer_freq") not in (None, 1):
        f.doubt("moe_layer_freq", "Every layer after the first dense ones is counted as a mixture.", kv=False)
    return after(f.whole("first_k_dense_replace", 0, minimum=0))(f, layers)


def at_frequency(f: Fields, layers: int) -> list[bool]:
    """Layers from first_k_dense_replace on whose index divides by moe_layer_freq."""
    first, every = f.whole("first_k_dense_replace", 1, minimum=0), f.whole("moe_layer_freq", 1)
    return [i >= first and i % every == 0 for i in range(layers)]


def stated_mixtures(rule: Flags) -> Flags:
    """The config's own mlp_layer_types where it states them, else what `rule` derives."""

    def flags(f: Fields, layers: int) -> list[bool]:
        stated = per_layer(f, "mlp_layer_types", layers, ("sparse", "dense"), kv=False)
        return rule(f, layers) if stated is None else [kind != "dense" for kind in stated]

    return flags


def expert_count(f: Fields) -> int:
    """Routed experts. DSA classes still read the older num_experts, which wins."""
    return f.whole_or_none("num_experts") or f.whole("n_routed_experts", 0, minimum=0)


def every_layer(f: Fields, layers: int) -> list[bool]:
    """DeepSeek-V3.2: each layer chooses its own tokens."""
    per_layer(f, "layer_types", layers, INDEXED)
    return [True] * layers


def indexer_layers(f: Fields, layers: int) -> list[bool]:
    """GLM-5: "shared" layers reuse the choice of the last "full" one and have no indexer."""
    per_layer(f, "layer_types", layers, INDEXED)
    return own_indexers(f, layers)


def own_indexers(f: Fields, layers: int) -> list[bool]:
    """indexer_types, else index_topk_pattern ("FSSF"), else every index_topk_freq-th after index_skip_topk_offset."""
    stated = per_layer(f, "indexer_types", layers, ("full", "shared"))
    if stated is not None:
        return [kind != "shared" for kind in stated]
    pattern = f.raw("index_topk_pattern")
    if pattern is not None:
        return _pattern(f, pattern, layers)
    every = max(f.whole("index_topk_freq", 1, minimum=0), 1)
    offset = f.whole("index_skip_topk_offset", 2, minimum=0)
    return [max(i - offset + 1, 0) % every == 0 for i in range(layers)]


def _pattern(f: Fields, pattern: object, layers: int) -> list[bool]:
    letters = {"F": True, "S": False, "full": True, "shared": False}
    if not isinstance(pattern, (str, list)) or len(pattern) != layers:
        raise f.error("index_topk_pattern", f"one F or S for each of {layers:,} layers")
    if any(not isinstance(each, str) or each not in letters for each in pattern):
        raise f.error("index_topk_pattern", "one F or S for each layer")
    return [letters[each] for each in pattern]


def doubt_foreign_windows(f: Fields) -> None:
    """Window fields that the class does not read, but a cache that is built from the config might."""
    for name in ("sliding_window", "attention_chunk_size"):
        if f.raw(name) is not None:
            f.doubt(name, f"{name} is not part of this model type; every layer is counted at full length.")
    if set(f.items("layer_types", str) or ()) - {"full_attention"}:
        f.doubt(
            "layer_types",
            "layer_types is not part of this model type; every layer is counted at full length.",
        )
