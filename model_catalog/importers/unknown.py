"""Model types that no reader knows: everything a config says in a usual spelling, and a doubt on all of it.

Layers, heads and widths are found under whatever name they usually go by, so the size is of the right order.
What the architecture does with them is not known; it is counted as plain attention, or by layer_types.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from model_catalog import layer_kinds as kinds
from model_catalog.fields import ConfigError, Fields, class_defaults
from model_catalog.importers import mixtures as moe
from model_catalog.importers.decoder import read_as
from model_catalog.importers.plain import Family, read_plain
from model_catalog.spec import ModelSpec, run_length

# Common name → the names it also goes by in configs of other makers, most usual first
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "num_hidden_layers": ("num_layers", "n_layer", "n_layers", "decoder_layers", "num_decoder_layers", "depth"),
    "hidden_size": ("d_model", "n_embd", "n_embed", "model_dim", "dim", "embed_dim", "hidden_dim"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "decoder_attention_heads", "attention_heads"),
    "num_key_value_heads": (
        "num_kv_heads",
        "n_kv_heads",
        "n_head_kv",
        "kv_n_heads",
        "multi_query_group_num",
        "num_query_groups",
    ),
    "head_dim": ("kv_channels", "attention_head_dim", "head_size", "d_head", "d_kv"),
    "intermediate_size": (
        "ffn_hidden_size",
        "n_inner",
        "d_ff",
        "ffn_dim",
        "decoder_ffn_dim",
        "inner_hidden_size",
        "ff_intermediate_size",
        "d_inner",
    ),
    "vocab_size": ("padded_vocab_size", "n_vocab", "text_vocab_size"),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"),
    "num_experts_per_tok": ("moe_topk", "moe_top_k", "moe_k", "num_experts_per_token", "top_k"),
    "n_shared_experts": ("num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
}
# layer_types that keep a state, or nothing, in place of keys and values
STATEFUL = frozenset({kinds.LINEAR, "conv", "recurrent", "recurrent_attention", "mamba2", "gated_deltanet"})
WITHOUT_CACHE = frozenset({"mlp", "moe"})
NESTED = ("text_config", "decoder", "decoder_config", "language_config", "llm_config", "global_config", "text_model")
HEADS = re.compile(r"(LMHeadModel|ForCausalLM|ForConditionalGeneration|ForImageTextToText|Model|ForPreTraining)$")


def read_unknown(f: Fields) -> ModelSpec:
    """A spec of the right order for a type that no reader knows, with everything in doubt."""
    name = f'"{f.model_type[:60]}" is not a model type that is known here' if f.model_type else "model_type is missing"
    f.doubt("model_type", f"{name}; it is read as a plain decoder.")
    outer, f = f, _in_usual_names(_innermost(f))
    if f.raw("kv_lora_rank"):
        f.doubt("kv_lora_rank", "The config points to latent attention (MLA); it is counted as plain attention.")
    sparse = moe.routed(size=_expert_width(f), shared=_shared_width, sparse=moe.from_layer())
    family = Family(
        layer_kinds=_layer_kinds,
        head_dim=_head_dim,
        mixture=sparse if f.raw("num_experts") else None,
    )
    return replace(_without_stateful(f, read_plain(f, family)), model_type=outer.model_type)


def _innermost(f: Fields) -> Fields:
    """The nested part that holds the decoder's sizes, where the config itself does not state them."""
    for name in NESTED:
        if _found(f, _spellings("hidden_size")) is not None:
            return f
        part = f.part(name) if f.raw(name) is None or isinstance(f.raw(name), Mapping) else None
        if part is not None and _found(part, _spellings("hidden_size")) is not None:
            f.doubt(name, f"Of the parts of this model only {name} is counted.")
            return part
    return f


def _spellings(common: str) -> tuple[str, ...]:
    return (common, *SPELLINGS[common])


def _in_usual_names(f: Fields) -> Fields:
    """The fields under their common names; of lists the largest entry, and what is missing filled in."""
    names = {common: _found(f, _spellings(common)) for common in SPELLINGS}
    found = {common: name for common, name in names.items() if name is not None}
    data = {**f.data, **{common: _largest(f, name) for common, name in found.items()}}
    usual = Fields(data, f.model_type, f.path)
    usual.reading = f.reading
    if names["num_hidden_layers"] is None:
        data |= _listed_layers(f)
    if names["intermediate_size"] is None:
        f.doubt("intermediate_size", "intermediate_size is missing; four times the hidden size is assumed.")
        data["intermediate_size"] = 4 * usual.whole("hidden_size")
    if names["vocab_size"] is None:
        f.doubt("vocab_size", "The vocabulary is not stated; embedding and output head are counted for one token.")
        data["vocab_size"] = 1
    if names["num_experts"] and not names["num_experts_per_tok"]:
        data["num_experts_per_tok"] = 1
    return usual


def _listed_layers(f: Fields) -> dict[str, int]:
    """The number of layers, where the config only lists them."""
    lists = [f.raw(name) for name in ("layer_types", "attn_layers", "layers_block_type", "block_types")]
    counts = [len(stated) for stated in lists if isinstance(stated, list)]
    return {"num_hidden_layers": counts[0]} if counts else {}


def _found(f: Fields, names: Iterable[str]) -> str | None:
    return next((name for name in names if f.raw(name) not in (None, 0, [])), None)


def _largest(f: Fields, name: str) -> Any:
    value = f.raw(name)
    if not isinstance(value, list):
        return value
    numbers = [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
    if not numbers or len(value) > 4096:
        raise f.error(name, "a whole number, or a list of whole numbers,")
    f.doubt(name, f"{name} differs from layer to layer; the largest is taken for all.")
    return max(numbers)


def _expert_width(f: Fields) -> str:
    usual = f.raw("moe_intermediate_size")
    return "moe_intermediate_size" if isinstance(usual, int) and usual > 0 else "intermediate_size"


def _shared_width(f: Fields) -> int:
    count = f.raw("n_shared_experts")
    return count * f.whole(_expert_width(f)) if isinstance(count, int) and 0 < count < 1024 else 0


def _head_dim(f: Fields) -> int:
    stated = f.whole_or_none("head_dim")
    return stated or max(1, f.whole("hidden_size") // f.whole("num_attention_heads"))


def _layer_kinds(f: Fields, layers: int) -> list[str]:
    """The stated layer_types; else the window in all layers, or in all but every sliding_window_pattern-th."""
    stated = f.raw("layer_types")
    if isinstance(stated, list) and len(stated) == layers and all(isinstance(kind, str) for kind in stated):
        return [_usual_kind(f, str(kinds.LEGACY.get(kind, kind))) for kind in stated]
    if stated is not None:
        f.doubt("layer_types", "layer_types does not name one kind for each layer; it is not heeded.")
    window = f.raw("sliding_window")
    if not isinstance(window, int) or window < 1 or f.raw("use_sliding_window") is False:
        return [kinds.FULL] * layers
    pattern = f.raw("sliding_window_pattern")
    f.doubt("sliding_window", "Which layers have the window is not known for this type.")
    if isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 0:
        return kinds.full_where(layers, kinds.last_of(pattern))
    return [kinds.SLIDING] * layers


def _usual_kind(f: Fields, kind: str) -> str:
    if kind in STATEFUL or kind in WITHOUT_CACHE:
        return kinds.FULL  # its keys and values are taken out again below
    missing = {kinds.SLIDING: "sliding_window", kinds.CHUNKED: "attention_chunk_size"}.get(kind)
    if missing and not isinstance(f.raw(missing), int):
        f.doubt(missing, f"{missing} is not stated; the layers that need it are counted as full attention.")
        return kinds.FULL
    return kind


def _without_stateful(f: Fields, spec: ModelSpec) -> ModelSpec:
    """The spec with no keys and values in the layers that layer_types calls recurrent or without attention."""
    stated = f.raw("layer_types")
    if not isinstance(stated, list) or len(stated) != spec.num_layers:
        return spec
    names = [kinds.LEGACY.get(kind, kind) if isinstance(kind, str) else "" for kind in stated]
    bare = [name in STATEFUL or name in WITHOUT_CACHE for name in names]
    if any(name in STATEFUL for name in names):
        f.doubt("layer_types", "The state that recurrent layers keep for each sequence is not counted.")
    pairs = zip(spec.each_layer(), bare, strict=True)
    layers = [replace(layer, mixers=()) if empty else layer for layer, empty in pairs]
    return replace(spec, layers=run_length(layers))


def named(f: Fields, known: Iterable[str]) -> Fields:
    """A part without a model_type, by the class that it names itself."""
    if f.model_type or not isinstance(f.data.get("architectures"), list):
        return f
    model_type, _ = model_type_of({"architectures": f.data["architectures"]}, known)
    f.doubt("model_type", f'model_type is missing; "{model_type[:60]}" is taken from architectures.')
    return read_as(f, model_type)


def model_type_of(config: Mapping[str, Any], known: Iterable[str]) -> tuple[str, bool]:
    """The model type, and whether it was guessed from `architectures`. Raises ConfigError where neither helps."""
    stated = config.get("model_type")
    if isinstance(stated, str) and stated:
        return stated, False
    if stated not in (None, ""):
        raise ConfigError("model_type", "model_type is not a text.")
    names = config.get("architectures")
    if isinstance(names, list) and names and isinstance(names[0], str):
        return _by_class_name(names[0], [*known, *class_defaults()]), True
    raise ConfigError("model_type", "model_type is missing, so the kind of model is not known.")


def _by_class_name(name: str, known: Iterable[str]) -> str:
    """The known type that spells like the class (Qwen3MoeForCausalLM → qwen3_moe), else the class's own name."""
    stem = HEADS.sub("", name)
    wanted = _letters(stem)
    same = [each for each in known if _letters(each) == wanted] or [
        each for each in known if _letters(each) == f"{wanted}text"
    ]
    return same[0] if same else (stem or name)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
