"""Encoder-decoder models and decoders with cross attention."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {}
