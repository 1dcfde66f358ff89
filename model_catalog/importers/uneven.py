"""Decoders whose layers differ in heads, widths, windows or cache sharing."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.importers import decilm, gemma, sparse_attention, step3, windowed_mixtures
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **gemma.READERS,
    **windowed_mixtures.READERS,
    **sparse_attention.READERS,
    **step3.READERS,
    **decilm.READERS,
}
