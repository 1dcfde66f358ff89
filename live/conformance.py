"""Does engine `transformers` predict what the library really builds and caches? Both sides for one config.

The library side is a full-size model on torch's meta device (live/dry_run.py), so this needs torch but no memory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from live.dry_run import CacheMeasurement, build_config, build_model, measure_cache, parameter_count
from model_catalog.importers import read_config
from model_catalog.spec import CrossAttention, ModelSpec, Recurrent
from sizing.cache import CacheCost
from sizing.costs import model_cost
from sizing.engines import transformers
from sizing.scenario import make_scenario
from sizing.weights.parameters import parameters

SHORT, LONG = 5, 300
LONGEST_RECURRENT = 200  # the library's own fallback runs recurrent layers token by token
LONGEST = 20_000
BATCHES = (1, 3)
DTYPES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}


@dataclass(frozen=True)
class Difference:
    """One figure that differs."""

    what: str
    predicted: int
    built: int


@dataclass(frozen=True)
class Conformance:
    """What was compared for one config, and every figure that differs."""

    parameters: int
    compared: tuple[tuple[int, int], ...]
    differences: tuple[Difference, ...] = field(default=())
    doubts: tuple[str, ...] = field(default=())


def check_config(config: Mapping[str, Any], most_points: int | None = None) -> Conformance:
    """Build and prefill the config's model and compare, at `most_points` lengths at most (the longest ones).

    Raises DryRunError where the library cannot run it.
    """
    spec = read_config(config)
    library_config = build_config(config)
    model = build_model(library_config)
    counted, _ = parameter_count(model)
    cost = _predicted_cost(spec, DTYPES[str(library_config.dtype)])
    points = tuple(_points(spec, cost))[-most_points if most_points else None :]
    measured = [measure_cache(model, batch, length, _source_tokens(spec)) for batch, length in points]
    return Conformance(
        parameters=counted,
        compared=points,
        differences=tuple(_differences(parameters(spec), counted, cost, measured)),
        doubts=tuple(doubt.message for doubt in spec.doubts),
    )


def _source_tokens(spec: ModelSpec) -> int | None:
    """The encoder length that the prediction assumes; None for decoders."""
    mixers = spec.mixers()
    return next((mixer.source_tokens for mixer in mixers if isinstance(mixer, CrossAttention)), None)


def _predicted_cost(spec: ModelSpec, dtype: str) -> CacheCost:
    scenario = make_scenario({"model": "config", "engine": "transformers", "kv_dtype": dtype})
    return model_cost(spec, transformers.mixer_cost_of(spec), transformers.formats(scenario, spec))


def _points(spec: ModelSpec, cost: CacheCost) -> Iterator[tuple[int, int]]:
    """(batch, length) below, at and above every window; one longer batch."""
    recurrent = spec.has(Recurrent)
    longest = LONGEST_RECURRENT if recurrent else LONGEST
    around = {knee + offset for knee in cost.knees for offset in (-1, 0, 1, 4)}
    lengths = sorted(length for length in {SHORT, min(LONG, longest), *around} if 0 < length <= longest)
    yield from ((BATCHES[0], length) for length in lengths)
    yield BATCHES[1], lengths[-1]


def _differences(
    predicted_parameters: int, counted: int, cost: CacheCost, measured: list[CacheMeasurement]
) -> Iterator[Difference]:
    if predicted_parameters != counted:
        yield Difference("parameters", predicted_parameters, counted)
    for each in measured:
        predicted = int(cost.bytes(each.length, each.batch))
        if predicted != each.bytes:
            yield Difference(f"cache of {each.batch} × {each.length} tokens", predicted, each.bytes)
