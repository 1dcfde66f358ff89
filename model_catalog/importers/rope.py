"""The rotary embeddings of a decoder: how many positions and dimensions each has a table for.

Sources: transformers 5.24.0 modeling_rope_utils.py for the fields; how far each kind of scaling stretches a table is
what vLLM builds (model_executor/layers/rotary_embedding), which other engines follow or do without.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from model_catalog.fields import Fields
from model_catalog.spec import Attention, CompressedAttention, LatentAttention, Mixer, ModelSpec, Rope
from model_catalog.towers.parts import decoder_part

LONGEST = 2**31
UNROTATED = frozenset(
    {"bamba_nope", "bloom", "gpt2", "gpt_bigcode", "jamba", "kimi_k3", "kimi_linear", "mpt", "nemotron_h", "opt"}
    | {"bert", "roberta", "xlm-roberta", "whisper", "zamba"}
)
HALF_ROTATED = frozenset({"chatglm"})
LOCAL_THETA = ("rope_local_base_freq", "swa_rope_theta")  # of window layers, which no scaling stretches
LOCAL_BY_DEFAULT = frozenset({"gemma3", "gemma3_text", "gemma3n", "gemma3n_text"})


def read_ropes(f: Fields, spec: ModelSpec) -> tuple[Rope, ...]:
    """The distinct rotary embeddings, none where the model has none or the config does not say enough."""
    text = decoder_part(f) or f
    if {f.model_type, text.model_type} & UNROTATED:
        return ()
    kept: dict[tuple[int, str], Rope] = {}
    for run in spec.layers:
        for mixer in run.layer.mixers:
            for dim, settings in _rotations(text, mixer):
                key = (dim, repr(sorted(settings.items(), key=repr)))
                if key not in kept and (positions := _positions(text, settings, spec)):
                    kept[key] = Rope(positions, dim)
    return tuple(kept.values())


def _rotations(text: Fields, mixer: Mixer) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rotated dimensions and settings of a layer's rotary embedding."""
    match mixer:
        case Attention():
            settings = _settings(text, mixer.window is not None)
            yield _share(text, mixer.head_dim, settings), settings
        case LatentAttention():
            yield mixer.rope_dim, _settings(text, mixer.window is not None)
        case CompressedAttention():
            theta = text.raw("compress_rope_theta" if mixer.ratio else "rope_theta")
            yield mixer.rope_dim, {**_settings(text, False), "theta": theta}


def _settings(text: Fields, windowed: bool) -> dict[str, Any]:
    """rope_parameters or rope_scaling, of that kind of layer where they differ."""
    stated = text.raw("rope_parameters") or text.raw("rope_scaling")
    settings: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    own = settings.get("sliding_attention" if windowed else "full_attention")
    if isinstance(own, Mapping):
        return dict(own)
    local = next((text.raw(name) for name in LOCAL_THETA if text.raw(name) is not None), None)
    if windowed and (local is not None or text.model_type in LOCAL_BY_DEFAULT):
        return {"theta": local}
    return dict(settings)


def _share(text: Fields, head_dim: int, settings: Mapping[str, Any]) -> int:
    """The rotated part of a head."""
    if text.model_type in HALF_ROTATED:
        return head_dim // 2
    stated = _number(text.raw("rotary_dim"))
    if stated:
        return min(int(stated), head_dim)
    for factor in (settings.get("partial_rotary_factor"), text.raw("partial_rotary_factor"), text.raw("rotary_pct")):
        share = _number(factor)
        if share and settings.get("rope_type") != "proportional":
            return int(head_dim * min(1.0, share))
    return head_dim


def _positions(text: Fields, settings: Mapping[str, Any], spec: ModelSpec) -> int:
    """Rows of the table: the longest sequence, stretched as the kind of scaling says; 0 where it is not known."""
    longest = spec.max_context or 0
    kind = settings.get("rope_type") or settings.get("type")
    factor = _number(settings.get("factor")) or 1.0
    original = _number(settings.get("original_max_position_embeddings"))
    original = original or _number(text.raw("original_max_position_embeddings"))
    rows: float = longest
    if kind in ("yarn", "deepseek_yarn"):
        rows = factor * (original or longest)
    elif kind in ("longrope", "su"):
        rows = longest + (original or 0)
    elif kind == "linear":
        rows = longest * factor
    elif kind == "mrope" or (settings.get("mrope_section") and not settings.get("mrope_interleaved")):
        rows = longest * 4
    return int(min(rows, LONGEST))


def _number(value: Any) -> float | None:
    """A number from a file that is not trusted, None where it is none or absurd."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and 0 < value < LONGEST else None
