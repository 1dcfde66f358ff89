"""Which settings say anything for a model and its GPUs. The form leaves out the others, but for those that are set."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from model_catalog.spec import Attention, CompressedAttention, LatentAttention, ModelSpec, Recurrent
from sizing.media.limits import tower_kinds
from sizing.weights.linears import has_experts


def has_windows(spec: ModelSpec) -> bool:
    return any(
        isinstance(mixer, CompressedAttention)
        or (isinstance(mixer, Attention | LatentAttention) and mixer.window is not None)
        or (isinstance(mixer, Attention) and mixer.chunk is not None)
        for mixer in spec.mixers()
    )


def has_states(spec: ModelSpec) -> bool:
    return spec.has(Recurrent)


OF_MODEL: Mapping[str, Callable[[ModelSpec], bool]] = MappingProxyType(
    {
        "hybrid_kv_cache_manager": lambda spec: has_windows(spec) or has_states(spec),
        "swa_full": has_windows,
        "swa_full_tokens_ratio": has_windows,
        "mamba_full_memory_ratio": has_states,
        "max_mamba_cache_size": has_states,
        "state_dtype": has_states,
        "cpu_moe_layers": has_experts,
        "expert_parallel": has_experts,
        "media_limits": lambda spec: bool(tower_kinds(spec)),
    }
)
OF_SEVERAL_GPUS = frozenset({"split_mode", "tensor_split", "memory_by_gpu", "expert_parallel", "dp_attention"})


def applies(field: str, spec: ModelSpec | None, gpus: int) -> bool:
    """Where the model could not be read, everything that several GPUs are not needed for."""
    if field in OF_SEVERAL_GPUS and gpus == 1:
        return False
    return spec is None or field not in OF_MODEL or OF_MODEL[field](spec)
