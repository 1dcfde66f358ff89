"""Settings of the engine: model, precision, load and hardware stay as they are.

A setting that a release does not have may be offered; the engine turns it away.
"""

from collections.abc import Iterator
from typing import Any

from model_catalog.spec import ModelSpec
from sizing.engines.words import OPTIONS, word_of
from sizing.levers.host_memory import experts_on_host, weights_on_host
from sizing.levers.sharing import replicas, shared_tokens
from sizing.levers.step import Lever, Step
from sizing.media.limits import TEXT_ONLY, tower_kinds
from sizing.scenario import Scenario
from sizing.units import GIB

SMALLEST_BATCH = {"max_num_batched_tokens": 1024, "chunked_prefill_size": 1024, "ubatch_size": 64}
FEWEST_REQUESTS = 32
LARGEST_FRACTION = 98  # hundredths; the driver's own context needs the rest
USUAL_FRACTION = 95
UNMEASURED = 5 * GIB  # what SGLang should have left beside its share (docs/advanced_features/hyperparameter_tuning.md)


def setting_levers(
    asked: Scenario, resolved: Scenario, spec: ModelSpec, memory: int, *, short: bool
) -> Iterator[Lever]:
    """From where the resolved scenario stands; `asked` is what was set, `memory` what one GPU has."""
    known = OPTIONS[asked.engine].keys()
    for steps in _field_steps(asked, resolved, memory, short):
        if steps and steps[0].values.keys() <= known:
            yield Lever("setting", steps)
    on_host = (experts_on_host(resolved, spec), weights_on_host(resolved, spec)) if short else ()
    for steps in (*on_host, replicas(asked, spec), shared_tokens(asked, spec), _text_only(asked, spec)):
        if steps:
            yield Lever("setting", steps)


def _field_steps(asked: Scenario, resolved: Scenario, memory: int, short: bool) -> Iterator[list[Step]]:
    """Of one field each, whether the engine has it or not."""
    fractions = fraction_steps(resolved, memory, LARGEST_FRACTION if short else USUAL_FRACTION)
    yield fractions if short else fractions[-1:]
    for name, least in SMALLEST_BATCH.items():
        yield [_step(resolved, name, size) for size in _powers_below(getattr(resolved, name) or 0, least)]
    for name, enough in (("max_num_seqs", _enough_requests(resolved)), ("max_model_len", resolved.context_length or 1)):
        yield [_step(resolved, name, enough)] if enough < (getattr(resolved, name) or 0) else []
    yield _switch("No CUDA graphs", "enforce_eager", True, not resolved.enforce_eager)
    yield _switch("Flash attention on", "flash_attention", True, not resolved.flash_attention)
    yield _switch("Windows at their own length", "swa_full", None, bool(asked.swa_full))
    yield _windows(asked, resolved)
    yield _prefix(resolved)
    layers = resolved.gpu_layers or 0 if short else 0
    yield [_step(resolved, "gpu_layers", fewer) for fewer in range(layers - 1, -1, -1)]


def _windows(asked: Scenario, resolved: Scenario) -> list[Step]:
    """TensorRT-LLM keeps windows whole where max_attention_window is not given, other engines where they are told."""
    field = "hybrid_kv_cache_manager"
    whole = asked.hybrid_kv_cache_manager is None and resolved.hybrid_kv_cache_manager is False
    told = asked.hybrid_kv_cache_manager is False
    return _switch("Windows at their own length", field, True if whole else None, whole or told)


def fraction_steps(resolved: Scenario, memory: int, most: int) -> list[Step]:
    """Hundredth by hundredth. SGLang does not measure what runs beside its share, so some memory has to stay free."""
    first = int((resolved.memory_fraction or 1) * 100) + 1
    if resolved.engine == "sglang":
        most = min(most, int(100 * (1 - UNMEASURED / memory)))
    return [_step(resolved, "memory_fraction", share / 100) for share in range(first, most + 1)]


def _step(resolved: Scenario, field: str, value: Any) -> Step:
    """gpu_memory_utilization 0.92 → 0.95."""
    old, new = (f"{each:,}" if isinstance(each, int) else f"{each:.3g}" for each in (getattr(resolved, field), value))
    return Step(f"{word_of(resolved.engine, field)} {old} → {new}", {field: value})


def _switch(text: str, field: str, value: bool | None, useful: bool) -> list[Step]:
    return [Step(text, {field: value})] if useful else []


def _powers_below(now: int, least: int) -> list[int]:
    return [1 << power for power in range(31, -1, -1) if least <= 1 << power < now]


def _enough_requests(resolved: Scenario) -> int:
    """What the load needs: slots of llama.cpp one by one, elsewhere the next power of two."""
    if resolved.engine == "llama.cpp":
        return -(-resolved.batch_size // resolved.data_parallel)
    return max(FEWEST_REQUESTS, 1 << (resolved.batch_size - 1).bit_length())


def _prefix(resolved: Scenario) -> list[Step]:
    """On where sequences share one; off where keeping prefixes costs states or rounding."""
    on = bool(resolved.prefix_caching)
    if resolved.shared_prefix_tokens:
        return _switch("Prefix caching on", "prefix_caching", True, not on)
    return _switch("Prefix caching off", "prefix_caching", False, on)


def _text_only(asked: Scenario, spec: ModelSpec) -> list[Step]:
    """Without the encoders of images and audio, where the engine can leave them out."""
    known = "media_limits" in OPTIONS[asked.engine] and asked.media_limits is None and asked.media is None
    values = {"media_limits": TEXT_ONLY.model_dump()}
    return [Step("Text only, no images or audio", values)] if known and tower_kinds(spec) else []
