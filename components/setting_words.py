"""The rarer settings of a scenario in a few words each, for the lines and names that tell scenarios apart."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from components.choices import name_of
from components.format import amount, counted, listed, short_tokens
from components.url_state import DEFAULTS
from sizing.engines import ENGINES
from sizing.engines.words import ENGINE_FIELDS, word_of
from sizing.media.limits import TEXT_ONLY
from sizing.scenario import Lora, Media, MediaLimits, Scenario, Speculative

OF_LOAD = ("average_context_length", "shared_prefix_tokens", "other_memory_bytes", "total_memory_bytes")


def _draft(draft: Speculative, engine: str) -> str:
    """Named by its method, a whole model by its name."""
    whole = ENGINES[engine].draft_methods.get(draft.method) == "model"
    return f"draft {name_of(draft.model) if whole and draft.model else draft.method} × {draft.tokens}"


def _lora(lora: Lora) -> str:
    return f"{lora.max_loras} × LoRA of rank {lora.rank}"


def _media(media: Media) -> str:
    parts = [
        counted(media.images, "image") if media.images else "",
        f"{media.frames:,} video frames" if media.frames else "",
        f"{media.audio_seconds:g} s of audio" if media.audio_seconds else "",
    ]
    size = f" of {media.width:,} × {media.height:,}" if media.images or media.frames else ""
    return ", ".join(part for part in parts[:2] if part) + size + (", " if size and parts[2] else "") + parts[2]


def _limits(limits: MediaLimits) -> str:
    if limits == TEXT_ONLY:
        return "text only"
    given = {"images": limits.image, "videos": limits.video, "audio clips": limits.audio}
    return "at most " + ", ".join(f"{most} {name}" for name, most in given.items() if most is not None)


WORDS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "lora": _lora,
        "media": _media,
        "media_limits": _limits,
        "cpu_offload_bytes": lambda size: f"{amount(size, 'GiB')} of weights on the host",
        "cpu_moe_layers": lambda count: f"experts of {counted(count, 'layer')} on the host",
        "kv_offload": lambda on: "" if on else "cache on the host",
        "memory_by_gpu": lambda sizes: f"GPUs of {' and '.join(amount(size, 'GiB') for size in sizes)}",
        "pooling": lambda on: "embeddings" if on else "",
        "average_context_length": lambda tokens: f"{short_tokens(tokens)} tokens on average",
        "shared_prefix_tokens": lambda tokens: f"{short_tokens(tokens)} tokens shared",
        "other_memory_bytes": lambda size: f"{amount(size, 'GiB')} used by others",
        "total_memory_bytes": lambda size: f"{amount(size, 'GiB')} of memory",
    }
)


def setting_words(asked: Scenario | None) -> dict[str, str]:
    """By field; those that were left to their defaults are left out."""
    if asked is None:
        return {}
    values = asked.model_dump(mode="json")
    names = ("media", *OF_LOAD, "speculative", "lora", *sorted(ENGINE_FIELDS))
    said = {name: _said(asked, name) for name in names if values[name] != DEFAULTS[name]}
    if asked.accelerator is None:
        said.pop("total_memory_bytes", None)  # the size of an accelerator of one's own
    return {name: text for name, text in said.items() if text}


def _said(asked: Scenario, name: str) -> str:
    value = getattr(asked, name)
    if isinstance(value, Speculative):
        return _draft(value, asked.engine)
    if name in WORDS:
        return WORDS[name](value)
    word = word_of(asked.engine, name)
    if isinstance(value, bool):
        return f"{word} {'on' if value else 'off'}"
    if isinstance(value, tuple):
        return f"{word} {listed(value)}"
    return f"{word} {value:,}" if isinstance(value, int) else f"{word} {value}"
