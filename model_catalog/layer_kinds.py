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

Rule = Callable[[Fields, int], list[str]]


def stated_or(rule: Rule) -> Rule:
    """The config's own layer_types where it states them, else what `rule` derives."""

    def kinds(f: Fields, layers: int) -> list[str]:
        stated = f.items("layer_types", str)
        if stated is None:
            return rule(f, layers)
        if len(stated) != layers:
            raise ConfigError(
                f"{f.path}layer_types",
                f"{f.path}layer_types names {len(stated):,} layers, but num_hidden_layers is {layers:,}.",
            )
        return stated

    return kinds


def all_full(f: Fields, layers: int) -> list[str]:
    return [FULL] * layers


def all_sliding(f: Fields, layers: int) -> list[str]:
    """Every layer has the window, where the config has one (Mistral, Mixtral, Phi-3)."""
    return [SLIDING if f.raw("sliding_window") is not None else FULL] * layers


def sliding_if_used(f: Fields, layers: int) -> list[str]:
    """Every layer has the window, where use_sliding_window is on (Qwen3 MoE)."""
    return all_sliding(f, layers) if f.flag("use_sliding_window") else all_full(f, layers)


def sliding_after_max_window_layers(f: Fields, layers: int) -> list[str]:
    """Qwen2 and Qwen3: where use_sliding_window is on, layers from max_window_layers on have the window."""
    if not f.flag("use_sliding_window") or f.raw("sliding_window") is None:
        return all_full(f, layers)
    first = f.whole("max_window_layers", layers, minimum=0)
    return [SLIDING if i >= first else FULL for i in range(layers)]


def one_full_in(default: int, field: str = "sliding_window_pattern", other: str = SLIDING) -> Rule:
    """Every `field`-th layer is full, the others are `other` (Gemma 2: 2, Cohere 2: 4, Gemma 3: 6)."""

    def kinds(f: Fields, layers: int) -> list[str]:
        interval = f.whole(field, default)
        return [other if (i + 1) % interval else FULL for i in range(layers)]

    return kinds


def window_of(f: Fields, kind: str) -> int | None:
    """The window of a layer of this kind, None for full attention."""
    return f.whole("sliding_window") if kind == SLIDING else None
