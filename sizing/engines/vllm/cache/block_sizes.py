"""Tokens a block: what the attention backend of a model and an accelerator accepts (v1/attention/backends)."""

from dataclasses import dataclass

from model_catalog.spec import Attention, CompressedAttention, LatentAttention, ModelSpec
from sizing.engines.vllm.cache.attention import FULL_ONLY
from sizing.engines.vllm.formats import FP8, Formats, plain_attention
from sizing.engines.vllm.rules import Rules
from sizing.scenario import Scenario, ScenarioError

DEFAULT = 16
COMPRESSED = 256  # DeepSeek-V4
SPARSE = 64
INDEXED = 128  # plain attention with an indexer (MiniMax-M3)
FLASH_MLA = 64  # SM90 with an fp8 cache
FLASHINFER_MLA = 32  # SM100
WIDE_FP8 = 64  # SM90: fp8 heads of 256 and more beside image tokens that see each other
IMAGES_SEE_EACH_OTHER = ("gemma3", "gemma4", "gemma4_unified")


@dataclass(frozen=True, slots=True)
class KernelBlocks:
    """`size` is what layers are cut into, `smallest` what the kernels need at least."""

    size: int
    smallest: int


def kernel_blocks(
    scenario: Scenario, spec: ModelSpec, formats: Formats, capability: tuple[int, int], rules: Rules
) -> KernelBlocks:
    """The scenario's block_size or the default, raised to the backend's. Raises ScenarioError if it does not suit."""
    smallest = _smallest(spec, formats, capability, rules)
    forced = _is_plain_latent(spec) and capability[0] in rules.latent_blocks
    asked = scenario.block_size
    if asked is None or (forced and asked % smallest):
        return KernelBlocks(max(DEFAULT, smallest), smallest)
    if asked % smallest:
        raise ScenarioError(
            "block_size", f"The attention kernels of this model take blocks of a multiple of {smallest} tokens."
        )
    return KernelBlocks(asked, smallest)


def _smallest(spec: ModelSpec, formats: Formats, capability: tuple[int, int], rules: Rules) -> int:
    mixers = list(spec.mixers())
    if any(isinstance(mixer, CompressedAttention) for mixer in mixers):
        return COMPRESSED
    if any(isinstance(mixer, LatentAttention) and mixer.indexer for mixer in mixers):
        return SPARSE
    if _is_plain_latent(spec):
        return rules.latent_blocks.get(capability[0]) or _latent(formats, capability)
    if any(isinstance(mixer, Attention) and mixer.indexer for mixer in mixers):
        return INDEXED
    return WIDE_FP8 if _wide_fp8(spec, formats, capability) else DEFAULT


def _is_plain_latent(spec: ModelSpec) -> bool:
    return spec.model_type not in FULL_ONLY and spec.has(LatentAttention)


def _latent(formats: Formats, capability: tuple[int, int]) -> int:
    if capability[0] == 10:
        return FLASHINFER_MLA
    return FLASH_MLA if capability[0] == 9 and formats.cache.key in FP8 else DEFAULT


def _wide_fp8(spec: ModelSpec, formats: Formats, capability: tuple[int, int]) -> bool:
    """Gemma 3 and 4 but for the E sizes, which share layers."""
    layers = plain_attention(spec)
    return (
        capability[0] == 9
        and formats.cache.key in FP8
        and spec.model_type in IMAGES_SEE_EACH_OTHER
        and any(layer.head_dim >= 256 for layer in layers)
        and not any(layer.reuses_cache for layer in layers)
    )
