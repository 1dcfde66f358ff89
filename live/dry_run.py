"""What transformers builds and caches for a config.json, found out without memory on torch's meta device.

A meta tensor has a shape and a dtype but no storage, so a model of any size is built and run in seconds: its parameters
are those the library makes, and the cache that comes back from a prefill is the one the library would fill.
No weights are read and no code from a checkpoint is executed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import DynamicCache, PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from live.cache_tensors import CacheTensor, cache_tensors
from live.prefill import prefill, prefill_inputs

MAX_MODULES = 4096  # layers, or experts of a layer: bounds the time that a hostile config can take
COUNTED = ("layers", "layer", "depth", "experts")
TEXT_HEADS = ("CAUSAL_LM",)
MULTIMODAL_HEADS = ("IMAGE_TEXT_TO_TEXT", "MULTIMODAL_LM")
SOURCE_TO_TEXT_HEADS = ("SEQ_TO_SEQ_CAUSAL_LM", "SPEECH_SEQ_2_SEQ")
CACHE_OUTPUTS = ("cache", "past_key_values", "cache_params", "state", "past_buckets_states", "mems")


class DryRunError(ValueError):
    """The config names a model that this transformers release cannot build or run; the text says why."""


@dataclass(frozen=True)
class CacheMeasurement:
    """The tensors that a cache holds after `length` tokens of `batch` sequences were prefilled."""

    batch: int
    length: int
    encoder_length: int | None
    tensors: tuple[CacheTensor, ...]

    @property
    def bytes(self) -> int:
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def storage_bytes(self) -> int:
        return sum(tensor.storage_bytes for tensor in self.tensors)

    @property
    def by_kind(self) -> dict[str, int]:
        totals: dict[str, int] = defaultdict(int)
        for tensor in self.tensors:
            totals[tensor.kind] += tensor.bytes
        return dict(totals)


# --- config ---


def build_config(config: Mapping[str, Any]) -> PreTrainedConfig:
    """The config object for the fields of a config.json, unquantised, its dtype filled in (bfloat16 where unstated).

    Raises DryRunError where the model type is unknown to this release, or where its config class refuses a field.
    """
    fields = _without_quantization(config)
    config_class = _config_class(fields)
    _check_counts(fields)
    with _explained(f"{config_class.__name__} refuses this config"):
        built: PreTrainedConfig = config_class.from_dict(fields)
        _check_flat_fields(fields, built)
        built.dtype = _stated_dtype(built)
        return built


def _without_quantization(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_quantization(value) if isinstance(value, Mapping) else value
        for name, value in config.items()
        if name not in ("quantization_config", "compression_config", "auto_map")
    }


def _config_class(fields: Mapping[str, Any]) -> type[PreTrainedConfig]:
    """By `model_type`; a type that transformers lacks, or that has no place for `text_config`, by `architectures`."""
    model_type = fields.get("model_type")
    by_type = [CONFIG_MAPPING[model_type]] if isinstance(model_type, str) and model_type in CONFIG_MAPPING else []
    named = [_model_class(name) for name in _architectures(fields)]
    by_name = [model.config_class for model in named if model is not None and model.config_class is not None]
    for config_class in [*by_type, *by_name]:
        if "text_config" not in fields or config_class.sub_configs:
            return config_class  # type: ignore[no-any-return]
    raise DryRunError(f"model_type {model_type!r} is not in transformers {transformers.__version__}.")


def _architectures(fields: Mapping[str, Any]) -> list[str]:
    names = fields.get("architectures")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _check_counts(fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            _check_counts(value)
        elif name.endswith(COUNTED) and isinstance(value, int) and value > MAX_MODULES:
            raise DryRunError(f"{name} is {value}; a dry run takes at most {MAX_MODULES}.")


def _check_flat_fields(fields: Mapping[str, Any], built: PreTrainedConfig) -> None:
    """A class that reads its text model from `text_config` passes over the same fields beside it without a word."""
    layers = fields.get("num_hidden_layers")
    text = built.get_text_config(decoder=True)
    if text is built or layers is None or "text_config" in fields:
        return
    if getattr(text, "num_hidden_layers", layers) != layers:
        raise DryRunError(f"{type(built).__name__} reads num_hidden_layers from text_config, which is missing.")


def _stated_dtype(config: PreTrainedConfig) -> torch.dtype:
    dtype = config.dtype or config.get_text_config().dtype or torch.bfloat16
    return getattr(torch, dtype) if isinstance(dtype, str) else dtype


# --- model ---


def model_class_for(config: PreTrainedConfig) -> type[Any]:
    """The class that generates text: the one `architectures` names where transformers has it, else by model type."""
    named = [_model_class(name) for name in config.architectures or []]
    by_type = [
        _model_class(getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES").get(config.model_type))
        for head in _heads(config)
    ]
    for model_class in [*named, *by_type]:
        if model_class is not None and model_class.can_generate():
            return model_class  # type: ignore[no-any-return]
    raise DryRunError(f"transformers {transformers.__version__} has no generating class for {config.model_type!r}.")


def _heads(config: PreTrainedConfig) -> tuple[str, ...]:
    if config.is_encoder_decoder:
        return SOURCE_TO_TEXT_HEADS + MULTIMODAL_HEADS + TEXT_HEADS
    if config.sub_configs:
        return MULTIMODAL_HEADS + TEXT_HEADS + SOURCE_TO_TEXT_HEADS
    return TEXT_HEADS + MULTIMODAL_HEADS + SOURCE_TO_TEXT_HEADS


def _model_class(name: str | tuple[str, ...] | None) -> Any:
    """The model class of that name in transformers, or None; of several, the first."""
    first = name[0] if isinstance(name, tuple) else name
    found = getattr(transformers, first, None) if first else None
    return found if isinstance(found, type) and issubclass(found, PreTrainedModel) else None


def build_model(config: PreTrainedConfig, attention: str = "sdpa") -> torch.nn.Module:
    """The model on the meta device, in the config's dtype: no memory, no weights.

    Raises DryRunError where the class cannot be built from this config.
    """
    model_class = model_class_for(config)
    with _explained(f"{model_class.__name__} cannot be built"), torch.device("meta"):
        model: torch.nn.Module = _from_config(model_class, config, attention)
        return model.eval()


def _from_config(model_class: Any, config: PreTrainedConfig, attention: str) -> Any:
    try:
        return model_class._from_config(config, attn_implementation=attention)
    except ValueError as error:
        if "attn_implementation" not in str(error):
            raise
        return model_class._from_config(config, attn_implementation="eager")


def parameter_count(model: torch.nn.Module) -> tuple[int, int]:
    """(parameters, bytes) of the model, each tied tensor counted once."""
    unique = list(model.parameters())  # parameters() already yields a shared one once
    return sum(p.numel() for p in unique), sum(p.numel() * p.element_size() for p in unique)


# --- cache ---


def measure_cache(model: Any, batch: int, length: int, encoder_length: int | None = None) -> CacheMeasurement:
    """Prefill `length` tokens of `batch` sequences and list every tensor that the returned cache holds.

    `encoder_length` is the number of positions an encoder gives (default: its full input for speech, else `length`).
    Raises DryRunError where the forward pass does not run on meta or returns no cache.
    """
    with _explained(f"{type(model).__name__} does not run on meta"):
        inputs = prefill_inputs(model, batch, length, encoder_length)
        output = prefill(model, inputs)
    kept = [name for name in CACHE_OUTPUTS if getattr(output, name, None) is not None]
    tensors = tuple(cache_tensors(getattr(output, kept[0]), kept[0])) if kept else _kept_inside(model, inputs)
    if not tensors:
        raise DryRunError(f"{type(model).__name__} keeps no cache.")
    encoder = getattr(output, "encoder_last_hidden_state", None)
    return CacheMeasurement(batch, length, None if encoder is None else encoder.shape[1], tensors)


def _kept_inside(model: Any, inputs: Mapping[str, Any]) -> tuple[CacheTensor, ...]:
    """A class whose layers keep states in themselves returns no cache: those states, and a cache handed to it."""
    states: dict[int, dict[str, Any]] = defaultdict(dict)
    for path, module in model.named_modules():
        layers = [int(part) for part in path.split(".") if part.isdigit()]
        held = {name: value for name, value in vars(module).items() if isinstance(value, torch.Tensor)}
        if layers and held:
            states[layers[0]] |= held
    if not states:
        return ()
    cache = DynamicCache(config=model.config)
    with _explained(f"{type(model).__name__} does not run on meta with a cache handed to it"):
        prefill(model, {**inputs, "cache": cache})
    return tuple(cache_tensors({"cache": cache, "states": states}, "states"))


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Any failure inside, as one sentence: what was tried, and the first line of what the library said."""
    try:
        yield
    except DryRunError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        raise DryRunError(f"{what}: {type(error).__name__}: {lines[0][:300]}") from error
