"""Which kind each layer is: the many spellings of hybrid and windowed layer lists, as one list of names.

The names are those of transformers' layer_types: full_attention, sliding_attention, chunked_attention,
linear_attention and so on. Classes that derive the list by a rule of their own name that rule here.
"""

from collections.abc import Callable
from typing import Final

from model_catalog.fields import ConfigError, Fields

FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
LINEAR: Final = "linear_attention"
LEGACY: Final = {"attention": FULL, "mamba": LINEAR}  # configuration_utils.py, _LEGACY_LAYER_TYPE_REMAP

Rule = Callable[[Fields, int], list[str]]


def stated_or(rule: Rule) -> Rule:
    """The config's own layer_types where it states them, else what `rule` derives."""

    def kinds(f: Fields, layers: int) -> list[str]:
        stated = _stated(f, layers)
        return rule(f, layers) if stated is None else stated

    return kinds


def _stated(f: Fields, layers: int) -> list[str] | None:
    stated = f.items("layer_types", str)
    if stated is not None and len(stated) != layers:
        raise ConfigError(
            f"{f.path}layer_types",
            f"{f.path}layer_types names {len(stated):,} layers, but num_hidden_layers is {layers:,}.",
        )
    return None if stated is None else [LEGACY.get(kind, kind) for kind in stated]


def all_full(f: Fields, layers: int) -> list[str]:
    """A class without windows. transformers' cache heeds window fields all the same, so they are doubted."""
    for name in _stray_fields(f, layers):
        f.doubt(
            name,
            f"Attention of {f.model_type} models has no window, so {name} is not heeded; "
            "transformers' cache would follow it.",
            weights=False,
        )
    return [FULL] * layers


def _stray_fields(f: Fields, layers: int) -> list[str]:
    """The fields by which transformers' cache_utils.get_layer_types_and_kwargs would choose another cache."""
    stated = _stated(f, layers)
    windows = [name for name in ("sliding_window", "attention_chunk_size") if f.raw(name) is not None]
    if stated is not None:
        return [] if set(stated) == {FULL} else ["layer_types"]
    return windows


def all_sliding(f: Fields, layers: int) -> list[str]:
    """Every layer has the window, where the config has one (Mistral, Mixtral, Phi-3)."""
    return _uniform(f, layers, SLIDING if f.raw("sliding_window") is not None else FULL)


def sliding_if_used(f: Fields, layers: int) -> list[str]:
    """Every layer has the window, where use_sliding_window is on (Qwen3 MoE)."""
    if f.flag("use_sliding_window"):
        return all_sliding(f, layers)
    return _uniform(f, layers, FULL)


def _uniform(f: Fields, layers: int, kind: str) -> list[str]:
    """One kind in every layer. Of stated layer_types transformers' cache takes note, its attention does not."""
    stated = _stated(f, layers)
    if stated is not None and set(stated) != {kind}:
        f.doubt("layer_types", f"{f.model_type} models have no layer_types of their own.", weights=False)
        return stated
    if kind == FULL and f.raw("attention_chunk_size") is not None:
        f.doubt("attention_chunk_size", f"{f.model_type} models have no chunked attention.", weights=False)
    return [kind] * layers


def sliding_after_max_window_layers(f: Fields, layers: int) -> list[str]:
    """Qwen2 and Qwen3: where use_sliding_window is on, layers from max_window_layers on have the window."""
    return windowed_after_max_window_layers(f, layers) if f.flag("use_sliding_window") else [FULL] * layers


def windowed_after_max_window_layers(f: Fields, layers: int) -> list[str]:
    """dots.llm1: layers from max_window_layers on have the window."""
    if f.raw("sliding_window") is None:
        return [FULL] * layers
    first = f.whole("max_window_layers", layers, minimum=0)
    return [SLIDING if i >= first else FULL for i in range(layers)]


def alternating_below_max_window_layers(f: Fields, layers: int) -> list[str]:
    """Qwen2 MoE: where use_sliding_window is on, even layers below max_window_layers have the window."""
    if not f.flag("use_sliding_window"):
        return [FULL] * layers
    first = f.whole("max_window_layers", layers, minimum=0)
    return [SLIDING if i % 2 == 0 and i < first else FULL for i in range(layers)]


def one_full_in(default: int, field: str = "sliding_window_pattern", other: str = SLIDING) -> Rule:
    """Every `field`-th layer is full, the others are `other` (Cohere 2: 4, Gemma 3: 6)."""

    def kinds(f: Fields, layers: int) -> list[str]:
        return full_where(layers, last_of(f.whole(field, default)), other)

    return kinds


def fixed_one_full_in(interval: int) -> Rule:
    """Every `interval`-th layer is full, and no field changes that (Gemma 2: 2, gpt-oss: 2, OLMo 3: 4)."""
    return lambda f, layers: full_where(layers, last_of(interval))


def first_full_in(default: int, field: str | None = None) -> Rule:
    """The first of every few layers is full, the others slide (CWM, Granite SWA, ModernBERT)."""

    def kinds(f: Fields, layers: int) -> list[str]:
        interval = f.whole(field, default) if field else default
        return full_where(layers, lambda i: i % interval == 0)

    return kinds


def counted_from_the_end(interval: int) -> Rule:
    """The last layer is full, and every `interval`-th before it (Muse)."""
    return lambda f, layers: full_where(layers, lambda i: (layers - 1 - i) % interval == 0)


def last_of(interval: int) -> Callable[[int], bool]:
    return lambda i: (i + 1) % interval == 0


def full_where(layers: int, full: Callable[[int], bool], other: str = SLIDING) -> list[str]:
    return [FULL if full(i) else other for i in range(layers)]
