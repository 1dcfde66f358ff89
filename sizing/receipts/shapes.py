"""Models that the catalog does not hold, by their dimensions or by the fields of their config."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model_catalog.importers.read import read_config
from model_catalog.spec import (
    Attention,
    CompressedAttention,
    FeedForward,
    Indexer,
    LatentAttention,
    Layer,
    LayerRun,
    Mixer,
    ModelSpec,
    Recurrent,
)

MIXERS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Attention, CompressedAttention, LatentAttention, Recurrent)
}


def read_shapes(folder: Path) -> dict[str, ModelSpec]:
    shapes = json.loads((folder / "shapes.json").read_text(encoding="utf-8"))
    return {name: spec_of(shape) for name, shape in shapes.items()}


def spec_of(shape: Mapping[str, Any]) -> ModelSpec:
    """`config`: fields of a config.json. Otherwise `layers`, [count, {kind and fields}] each, `times` over.

    A model given by its layers has no weights.
    """
    if "config" in shape:
        return read_config(shape["config"])
    forward = FeedForward(intermediate=shape.get("intermediate", 64))
    runs = [LayerRun(count, Layer(mixers=(_mixer(mixer),), feed_forward=forward)) for count, mixer in shape["layers"]]
    return ModelSpec(
        model_type=shape["model_type"],
        layers=tuple(runs * shape.get("times", 1)),
        hidden_size=shape.get("hidden", 64),
        vocab_size=shape.get("vocab", 64),
        max_context=shape.get("max_context", 1_048_576),
        dtype="bf16",
        tied_embeddings=False,
        tensors=(),
    )


def _mixer(fields: Mapping[str, Any]) -> Mixer:
    given = dict(fields)
    kind = MIXERS[given.pop("mixer")]
    if given.get("indexer"):
        given["indexer"] = Indexer(**given["indexer"])
    mixer: Mixer = kind(**given)
    return mixer
