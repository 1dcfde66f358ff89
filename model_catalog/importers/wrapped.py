"""Models whose decoder is a nested text_config, with vision or audio towers beside it."""

from collections.abc import Callable
from dataclasses import replace

from model_catalog.fields import Fields
from model_catalog.importers.towers import read_towers
from model_catalog.spec import ModelSpec


def read_wrapped(f: Fields, read_text: Callable[[Fields], ModelSpec]) -> ModelSpec:
    """The decoder of text_config, and the towers beside it."""
    text = f.part("text_config")
    if text is None:
        raise f.error("text_config", "an object")
    spec = read_text(text)
    return replace(spec, model_type=f.model_type, towers=(*spec.towers, *read_towers(f)))
