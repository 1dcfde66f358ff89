"""A full-size dry run layer by layer: what the library builds and caches on the meta device beside the prediction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, Field

from live.prediction import dynamic_cost
from model_catalog.importers import read_config
from model_catalog.spec import Layer, ModelSpec
from sizing.cache import CacheCost
from sizing.engines import transformers
from sizing.scenario import make_scenario
from sizing.weights.parameters import parameters

MOST_TOKENS = 131_072
MOST_BATCH = 1024
# The library's own code without kernels runs recurrent layers token by token, on meta too.
MOST_RECURRENT_TOKENS = 256
LAYER_NUMBER = re.compile(r"(?:^|\.)(\d+)\.")
DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class LayerRow(BaseModel):
    """One decoder layer: parameters and cache bytes of the batch, as built and as predicted."""

    layer: int
    kind: str
    parameters: int
    predicted_parameters: int
    cache: int
    predicted_cache: int


class DryRun(BaseModel):
    """A model as the library builds it. `storage` is the memory that the cache's tensors keep alive."""

    model_class: str
    dtype: str
    version: str
    batch: int
    tokens: int
    parameters: int
    predicted_parameters: int
    cache: int
    predicted_cache: int
    storage: int
    seconds: float = 0.0
    layers: list[LayerRow] = Field(default_factory=list)


def dry_run(config: Mapping[str, Any], batch: int, tokens: int) -> DryRun:
    """Build the config's model on meta, prefill it, and list both sides. Raises DryRunError or ConfigError."""
    import transformers as library

    from live.dry_run import build_config, build_model, measure_cache, parameter_count

    spec = read_config(config)
    library_config = build_config(config)
    model = build_model(library_config)
    measured = measure_cache(model, batch, tokens)
    dtype = DTYPES[str(library_config.dtype).removeprefix("torch.")]
    cost = dynamic_cost(spec, dtype)
    caches: dict[int, int] = {}
    for tensor in measured.tensors:
        caches[tensor.layer] = caches.get(tensor.layer, 0) + tensor.bytes
    return DryRun(
        model_class=type(model).__name__,
        dtype=dtype,
        version=library.__version__,
        batch=batch,
        tokens=tokens,
        parameters=parameter_count(model)[0],
        predicted_parameters=parameters(spec),
        cache=measured.bytes,
        predicted_cache=int(cost.bytes(tokens, batch)),
        storage=measured.storage_bytes,
        layers=list(_rows(spec, dtype, batch, tokens, caches, _layer_parameters(model))),
    )


def _rows(
    spec: ModelSpec, dtype: str, batch: int, tokens: int, caches: dict[int, int], built: dict[int, int]
) -> Iterator[LayerRow]:
    for index, (layer, cost) in enumerate(zip(spec.each_layer(), _layer_costs(spec, dtype), strict=True)):
        yield LayerRow(
            layer=index,
            kind=_kind(layer),
            parameters=built.get(index, 0),
            predicted_parameters=sum(tensor.elements for tensor in layer.tensors),
            cache=caches.get(index, 0),
            predicted_cache=int(cost.bytes(tokens, batch)),
        )


def _layer_costs(spec: ModelSpec, dtype: str) -> Iterator[CacheCost]:
    scenario = make_scenario({"model": "config", "engine": "transformers", "kv_dtype": dtype})
    formats, rule = transformers.formats(scenario, spec), transformers.mixer_cost_of(spec)
    for layer in spec.each_layer():
        costs = [rule(mixer, formats) for mixer in layer.mixers]
        growths = tuple(growth for cost in costs for growth in cost.growths)
        yield CacheCost(growths, sum(cost.fixed_kv for cost in costs), sum(cost.state for cost in costs))


def _kind(layer: Layer) -> str:
    names = [getattr(mixer, "kind", None) or type(mixer).__name__ for mixer in layer.mixers]
    windows = [f"window {window:,}" for mixer in layer.mixers if (window := getattr(mixer, "window", None))]
    return ", ".join([*names, *windows]) or "feed-forward only"


def _layer_parameters(model: Any) -> dict[int, int]:
    """Parameters of each numbered layer of the text decoder, each tensor counted once."""
    counts: dict[int, int] = {}
    for name, parameter in model.get_decoder().named_parameters():
        number = LAYER_NUMBER.search(name)
        if number:
            counts[int(number[1])] = counts.get(int(number[1]), 0) + parameter.numel()
    return counts
