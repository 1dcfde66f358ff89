"""The settings that vLLM chooses where the scenario leaves them open (engine/arg_utils.py)."""

from hardware_catalog.schema import Accelerator
from model_catalog.spec import Attention, ModelSpec, Recurrent
from sizing.engines.vllm.rules import Rules
from sizing.scenario import Scenario
from sizing.units import GIB

DEFAULT_CAPABILITY = (9, 0)  # an H100's
LARGE, LARGEST = 70 * GIB, 160 * GIB
LONG = 32_768
UNREAD = "gb10"  # large, but its memory is not read before 0.33, and left out from then on (log v200)
NAMED_LARGE = ("h100", "h200")
BIDIRECTIONAL_IMAGE_TOKENS = 2496  # Gemma 4: the batch must hold one video whole, 32 frames of 78 tokens (receipt v200)


def capability_of(accelerator: Accelerator | None) -> tuple[int, int]:
    """CUDA compute capability; an H100's where no accelerator is named, (0, 0) for one without CUDA."""
    if accelerator is None:
        return DEFAULT_CAPABILITY
    return accelerator.compute_capability or (0, 0)


def is_unified(accelerator: Accelerator | None) -> bool:
    """Whether it shares its memory with the host."""
    return accelerator is not None and accelerator.kind == "unified"


def is_linked(accelerator: Accelerator | None) -> bool:
    """Whether ranks talk over NVLink or its like; as an H100's do where no accelerator is named."""
    return accelerator is None or (accelerator.interconnect is not None and not is_unified(accelerator))


def max_num_seqs(accelerator: Accelerator | None, rules: Rules) -> int:
    return 1024 if not (rules.v0 or rules.large_is_by_name) and _memory(accelerator, rules) >= LARGE else 256


def max_num_batched_tokens(
    scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None, rules: Rules, longest: int, sequences: int
) -> int:
    """The server's default for `sequences` of `longest` tokens, which since 0.12 it doesn't exceed.

    The old engine prefills whole prompts of up to 32,768 tokens (arg_utils.py of 0.7.3).
    """
    if scenario.max_num_batched_tokens is not None:
        return scenario.max_num_batched_tokens
    if rules.v0:
        return 2048 if longest > LONG else max(longest, 2048)
    memory = _memory(accelerator, rules)
    tokens = 16384 if memory >= LARGEST and rules.largest_batches else 8192 if memory >= LARGE else 2048
    if sees_images_both_ways(spec) and (scenario.media_limits is None or scenario.media_limits.video != 0):
        tokens = max(tokens, BIDIRECTIONAL_IMAGE_TOKENS)
    return min(tokens, sequences * longest) if rules.fits_batches else tokens


def _memory(accelerator: Accelerator | None, rules: Rules) -> int:
    """Bytes, 0 for the large cards that get the smaller defaults; an H100's where no accelerator is known."""
    if accelerator is None or accelerator.memory_for_budget is None:
        return LARGE
    name = accelerator.id.lower()
    if rules.large_is_by_name:
        return LARGE if name.startswith(NAMED_LARGE) else 0
    spared = (UNREAD, "a100") if rules.spares_a100 else (UNREAD,)
    return 0 if any(card in name for card in spared) else accelerator.memory_for_budget.bytes


def sees_images_both_ways(spec: ModelSpec) -> bool:
    """Gemma 4 but for the E sizes: image tokens attend to each other."""
    shares = any(isinstance(mixer, Attention) and mixer.reuses_cache for mixer in spec.mixers())
    return spec.model_type in ("gemma4", "gemma4_unified") and not shares


def prefix_caching(scenario: Scenario, spec: ModelSpec, rules: Rules) -> bool:
    """On, but for the old engine, and for recurrent models before their states could be cached."""
    if scenario.prefix_caching is not None:
        return scenario.prefix_caching
    recurrent = spec.has(Recurrent)
    return not rules.v0 and (rules.caches_states or not recurrent)
