"""Settings of the engine: model, precision, load and hardware stay as they are.

A setting that a release does not have may be offered; the engine turns it away.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from model_catalog.spec import LatentAttention, ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.words import OPTIONS, word_of
from sizing.levers.step import Lever, Step
from sizing.media.limits import TEXT_ONLY, tower_kinds
from sizing.scenario import Scenario
from sizing.units import GIB
from sizing.weights.linears import has_expert, has_experts
from sizing.weights.stored import stored_bytes

SMALLEST_BATCH = {"max_num_batched_tokens": 1024, "chunked_prefill_size": 1024, "ubatch_size": 64}
FEWEST_REQUESTS = 32
NOT_OFFLOADED = frozenset(
    {TensorClass.EMBEDDING, TensorClass.LM_HEAD, TensorClass.PREDICTION, TensorClass.VISION, TensorClass.AUDIO}
)
LARGEST_FRACTION = 98  # hundredths; the driver's own context needs the rest
USUAL_FRACTION = 95
UNMEASURED = 5 * GIB  # what SGLang should have left beside its share (docs/advanced_features/hyperparameter_tuning.md)


def setting_levers(
    asked: Scenario, resolved: Scenario, spec: ModelSpec, memory: int, *, short: bool
) -> Iterator[Lever]:
    """From where the resolved scenario stands; `asked` is what was set, `memory` what one GPU has."""
    known = OPTIONS[asked.engine]
    fields = [steps for name, steps in _field_steps(asked, resolved, memory, short) if name in known]
    for steps in (
        *fields,
        _experts_on_host(resolved, spec, short),
        _weights_on_host(resolved, spec, short),
        _replicas(asked, spec),
        _shared_tokens(asked, spec),
        _text_only(asked, spec),
    ):
        if steps:
            yield Lever("setting", steps)


def _field_steps(asked: Scenario, resolved: Scenario, memory: int, short: bool) -> Iterator[tuple[str, Sequence[Step]]]:
    fractions = fraction_steps(resolved, memory, LARGEST_FRACTION if short else USUAL_FRACTION)
    yield "memory_fraction", fractions if short else fractions[-1:]
    for name, least in SMALLEST_BATCH.items():
        now = getattr(resolved, name) or 0
        yield name, [_step(resolved, name, size) for size in _powers_below(now, least)]
    for name, enough in (("max_num_seqs", _enough_requests(resolved)), ("max_model_len", resolved.context_length or 1)):
        yield name, [_step(resolved, name, enough)] if enough < (getattr(resolved, name) or 0) else []
    yield "enforce_eager", _switch("No CUDA graphs", "enforce_eager", True, not resolved.enforce_eager)
    yield "flash_attention", _switch("Flash attention on", "flash_attention", True, not resolved.flash_attention)
    yield "swa_full", _switch("Windows at their own length", "swa_full", None, bool(asked.swa_full))
    yield (
        "hybrid_kv_cache_manager",
        _switch("Windows at their own length", "hybrid_kv_cache_manager", None, asked.hybrid_kv_cache_manager is False),
    )
    yield (
        "hybrid_kv_cache_manager",
        _switch("Windows at their own length", "hybrid_kv_cache_manager", True, _keeps_windows_whole(asked, resolved)),
    )
    yield "prefix_caching", _prefix(resolved)
    layers = resolved.gpu_layers or 0 if short else 0
    yield "gpu_layers", [_step(resolved, "gpu_layers", fewer) for fewer in range(layers - 1, -1, -1)]


def _experts_on_host(resolved: Scenario, spec: ModelSpec, short: bool) -> list[Step]:
    """Layer by layer from the first one that has experts, as --n-cpu-moe counts; for loads that do not fit."""
    if not short or resolved.engine != "llama.cpp" or not has_experts(spec):
        return []
    now = resolved.cpu_moe_layers or 0
    first = next(index for index, layer in enumerate(spec.each_layer()) if has_expert(layer))
    return [
        Step(f"Experts of {count:,} layer{'s' if count > 1 else ''} in host memory", {"cpu_moe_layers": count})
        for count in range(max(now, first) + 1, spec.num_layers + 1)
    ]


def _keeps_windows_whole(asked: Scenario, resolved: Scenario) -> bool:
    """As TensorRT-LLM does where max_attention_window is not given."""
    return asked.hybrid_kv_cache_manager is None and resolved.hybrid_kv_cache_manager is False


def _weights_on_host(resolved: Scenario, spec: ModelSpec, short: bool) -> list[Step]:
    """GiB by GiB, up to one GPU's share of the layers (vllm/model_executor/models/utils.py: maybe_offload_to_cpu); for
    loads that do not fit."""
    if not short or "cpu_offload_bytes" not in OPTIONS[resolved.engine]:
        return []
    sizes = stored_bytes(spec, resolved.weights)
    layers = sum(size for kind, size in sizes.items() if kind not in NOT_OFFLOADED)
    most = layers // (resolved.tensor_parallel * resolved.pipeline_parallel) // GIB
    now = (resolved.cpu_offload_bytes or 0) // GIB
    return [
        Step(f"{count:,} GiB of weights in host memory", {"cpu_offload_bytes": count * GIB})
        for count in range(now + 1, most + 1)
    ]


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


def _replicas(asked: Scenario, spec: ModelSpec) -> list[Step]:
    """Tensor parallelism of attention into replicas of it, and back; the number of GPUs stays."""
    ranks, replicas = asked.tensor_parallel, asked.data_parallel
    if asked.engine == "llama.cpp" or asked.pipeline_parallel > 1:
        return []
    if asked.dp_attention:
        return [Step(f"DP attention → TP {ranks}", {"dp_attention": False, "data_parallel": 1})]
    if replicas > 1:
        together = ranks * replicas
        return [Step(f"DP {replicas} → TP {together}", {"tensor_parallel": together, "data_parallel": 1})]
    if ranks == 1:
        return []
    if asked.engine in ("sglang", "tensorrt-llm"):
        return [Step(f"TP {ranks} → DP attention {ranks}", {"dp_attention": True, "data_parallel": ranks})]
    name = f"TP {ranks} → DP {ranks}{', expert parallel' if spec.is_mixture else ''}"
    return [Step(name, {"tensor_parallel": 1, "data_parallel": ranks, "expert_parallel": spec.is_mixture})]


def _shared_tokens(asked: Scenario, spec: ModelSpec) -> list[Step]:
    """Decode context parallelism, where every rank holds the same latent."""
    if not spec.has(LatentAttention) or asked.engine != "vllm":
        return []
    sizes = [size for size in (2, 4, 8, 16) if asked.decode_context_parallel < size <= asked.tensor_parallel]
    return [Step(f"Decode context parallel {size}", {"decode_context_parallel": size}) for size in sizes]


def _text_only(asked: Scenario, spec: ModelSpec) -> list[Step]:
    """Without the encoders of images and audio, where the engine can leave them out."""
    known = "media_limits" in OPTIONS[asked.engine] and asked.media_limits is None and asked.media is None
    values = {"media_limits": TEXT_ONLY.model_dump()}
    return [Step("Text only, no images or audio", values)] if known and tower_kinds(spec) else []
