"""Recurrent decoders, and hybrids of recurrent and attention layers: the readers of all their modules."""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.importers import delta, kimi, mamba, nemotron_h, short_conv, zamba
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **mamba.READERS,
    **zamba.READERS,
    **nemotron_h.READERS,
    **delta.READERS,
    **kimi.READERS,
    **short_conv.READERS,
}
