"""Encoder-decoder models, and decoders with cross attention: the readers of all their modules.

A decoder layer caches keys and values of its own tokens and, fixed for a sequence, those of the encoder's output. The
encoder is a tower of the class ENCODER.
"""

from collections.abc import Callable

from model_catalog.fields import Fields
from model_catalog.importers import bart, mllama, t5, t5gemma
from model_catalog.spec import ModelSpec

READERS: dict[str, Callable[[Fields], ModelSpec]] = {
    **bart.READERS,
    **t5.READERS,
    **t5gemma.READERS,
    **mllama.READERS,
}
