"""Read any config: find the reader of its model type, and add what every config says in the same way."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from model_catalog.fields import ConfigError, Fields
from model_catalog.importers import (
    encoder_decoder,
    families,
    latent,
    legacy,
    plain,
    recurrent,
    uneven,
    wrapped,
)
from model_catalog.spec import ModelSpec
from model_catalog.towers.parts import decoder_part

Reader = Callable[[Fields], ModelSpec]
READERS: dict[str, Reader] = {
    **families.READERS,
    **legacy.READERS,
    **uneven.READERS,
    **latent.READERS,
    **recurrent.READERS,
    **encoder_decoder.READERS,
}


def read_config(config: Mapping[str, Any]) -> ModelSpec:
    """ModelSpec of a config.json. Raises ConfigError with the field it could not read.

    What was not understood is listed in the spec's doubts; it is counted as plain attention, never silently.
    """
    if not isinstance(config, Mapping):
        raise ConfigError("", "The file does not hold a JSON object.")
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ConfigError("model_type", "model_type is missing, so the kind of model is not known.")
    f = Fields(config, model_type)
    spec = read_fields(f)
    return replace(spec, doubts=tuple(dict.fromkeys(f.doubts)))


def read_fields(f: Fields) -> ModelSpec:
    """The spec of one config object: by its own reader, by that of its text part, or as a plain decoder."""
    reader = READERS.get(f.model_type)
    if reader and not wrapped.names_decoder(f):
        return reader(f)
    text = decoder_part(f)
    if text is not None:
        return wrapped.read_wrapped(f, text, read_fields)
    f.doubt("model_type", f'"{f.model_type}" is not a model type that is known here; it is read as a plain decoder.')
    return plain.read_plain(f, plain.Family())
