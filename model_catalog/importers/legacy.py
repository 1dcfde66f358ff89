"""Decoders whose configs use older field names (GPT-2, Falcon, MPT, Baichuan, ChatGLM, ...)."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {}
