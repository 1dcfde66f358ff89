"""A ModelSpec from a reader's layers, with the ends and sizes that most decoders write down alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from model_catalog.blocks.ends import ends
from model_catalog.fields import ConfigError, Fields
from model_catalog.importers.common import max_context_of
from model_catalog.spec import Layer, ModelSpec, Tower, run_length
from model_catalog.tensors import Tensor

# Classes that keep an output head of their own whatever the config says (transformers 5.24.0, _tied_weights_keys = {})
NEVER_TIED = frozenset({"bailing_hybrid", "inkling_text", "inkling2_text", "kimi_linear", "nemotron_h", "xlstm"})


def decoder(
    f: Fields,
    layers: list[Layer],
    *,
    tied: bool | None = None,
    extra: tuple[Tensor, ...] = (),
    towers: tuple[Tower, ...] = (),
) -> ModelSpec:
    """The spec of a decoder with one embedding, one final norm and one output head. `extra`: tensors beside them."""
    hidden, vocab = f.whole("hidden_size"), f.whole("vocab_size")
    tied = f.flag("tie_word_embeddings") and f.model_type not in NEVER_TIED if tied is None else tied
    return ModelSpec(
        model_type=f.model_type,
        layers=run_length(layers),
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context_of(f),
        dtype="bf16",
        tied_embeddings=tied,
        tensors=(*ends(vocab, hidden, tied=tied), *extra),
        towers=towers,
    )


def per_layer(f: Fields, name: str, layers: int, known: Sequence[str], *, kv: bool = True) -> list[str] | None:
    """A list of texts, one for each layer, or None where the config has none; a text not in `known` is doubted."""
    stated = f.items(name, str)
    if stated is None:
        return None
    if len(stated) != layers:
        raise ConfigError(f.path + name, f"{f.path}{name} names {len(stated):,} layers, but the model has {layers:,}.")
    for odd in sorted(set(stated) - set(known)):
        f.doubt(name, f'"{odd[:40]}" layers are not understood; they are counted as "{known[0]}".', kv=kv)
    return stated


def overlaid(f: Fields, own: Mapping[str, Any]) -> Fields:
    """The fields as one layer sees them: its own values over the model's."""
    if not own:
        return f
    layer = Fields({**f.data, **own}, f.model_type, f.path)
    layer.reading = f.reading
    return layer


def overrides(f: Fields, layers: int) -> list[Mapping[str, Any]] | None:
    """per_layer_config as one object per layer, or None where the config has none."""
    stated = f.raw("per_layer_config")
    if stated is None:
        return None
    if not isinstance(stated, Mapping) or not all(isinstance(own, Mapping) for own in stated.values()):
        raise f.error("per_layer_config", "an object with an object for each layer that differs")
    return [stated.get(str(i), stated.get(i, {})) for i in range(layers)]


def read_as(f: Fields, model_type: str) -> Fields:
    """The same fields with the defaults of another model type's class."""
    other = Fields(f.data, model_type, f.path)
    other.reading = f.reading
    return other
