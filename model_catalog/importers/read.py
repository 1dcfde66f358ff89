"""Read any config: find the reader of its model type, and add what every config says in the same way."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from model_catalog.drafts.kinds import decoder_fields, kind_of
from model_catalog.fields import ConfigError, Fields, class_defaults
from model_catalog.importers import unknown
from model_catalog.importers.readers import READERS
from model_catalog.importers.rope import read_ropes
from model_catalog.importers.unread import doubt_unread
from model_catalog.mixed_formats import with_own_formats
from model_catalog.quantization import dtype_of, read_quantization
from model_catalog.spec import DraftKind, ModelSpec
from model_catalog.towers.parts import decoder_part


def read_config(config: Mapping[str, Any]) -> ModelSpec:
    """ModelSpec of a config.json. Raises ConfigError with the field it could not read.

    What was not understood is listed in the spec's doubts; it is counted as plain attention, never silently.
    """
    if not isinstance(config, Mapping):
        raise ConfigError("", "The file does not hold a JSON object.")
    kind = kind_of(config)
    f = _fields(config) if kind is None else Fields(config, str(config.get("model_type") or kind))
    read = read_fields(f) if kind is None else _read_head(f, kind)
    spec = with_own_formats(replace(read, dtype=dtype_of(f), quantization=read_quantization(f)), f)
    rotated = f if kind is None else decoder_fields(f)
    return replace(spec, ropes=read_ropes(rotated, spec), doubts=tuple(dict.fromkeys(f.doubts)))


def _read_head(f: Fields, kind: DraftKind) -> ModelSpec:
    heads = import_module("model_catalog.drafts.heads")  # only when needed: few files are heads
    read: ModelSpec = heads.read_head(f, kind, read_fields)
    return read


def _fields(config: Mapping[str, Any]) -> Fields:
    model_type, guessed = unknown.model_type_of(config, READERS)
    f = Fields(config, model_type)
    if guessed:
        f.doubt("model_type", f'model_type is missing; "{model_type[:60]}" is taken from architectures.')
    return f


def read_fields(f: Fields) -> ModelSpec:
    """The spec of one config object: by its own reader, by that of its text part, or as a plain decoder."""
    f = unknown.named(f, READERS)
    reader = READERS.get(f.model_type)
    if reader and not _names_decoder(f):
        spec = reader(f)
        doubt_unread(f)
        return spec
    text = decoder_part(f)
    if text is None:
        return unknown.read_unknown(f)
    towers = import_module("model_catalog.importers.wrapped")  # only when needed: a third of all readers' code
    wrapped: ModelSpec = towers.read_wrapped(f, text, read_fields)
    return wrapped


def _names_decoder(f: Fields) -> bool:
    """Whether the file gives a wrapping config the model_type of its decoder (some copies of Ministral 3 do)."""
    nested = isinstance(f.raw("text_config"), Mapping) and not f.has("num_hidden_layers")
    return nested and not class_defaults().get(f.model_type, {}).get("parts")
