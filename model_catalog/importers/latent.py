"""Multi-head latent attention (MLA), its sparse indexers, and the compressed attention of DeepSeek-V4."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {}
