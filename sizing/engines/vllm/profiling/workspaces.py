"""Scratch that vLLM's layers share: of experts, and of sparse attention."""

from dataclasses import dataclass

from model_catalog.spec import CompressedAttention, LatentAttention, ModelSpec
from sizing.activations import ExpertWidths
from sizing.engines.vllm.profiling.rules import ProfileRules

HALF = 2
SPARSE_PREFILLS = 5  # longest sequences whose latents are gathered for prefill
INDEXED_PREFILLS = 40  # and whose keys the indexer gathers
SCALE = 4  # bytes beside a key in 8 bits
SCORES = 512 << 20  # VLLM_SPARSE_INDEXER_MAX_LOGITS_MB


@dataclass(frozen=True, slots=True)
class ExpertScratch:
    """Of one token on its way through its experts, in 16-bit numbers: kept from layer to layer, and not."""

    kept: int
    passing: int


def expert_scratch(widths: ExpertWidths, rules: ProfileRules, *, inside: bool) -> ExpertScratch:
    """workspace_shapes of the Triton and Marlin experts, fused_experts before; `inside`: kernels allocate themselves.

    One buffer for what the first projections give and for the result; one for their product, which the modular
    kernels make as wide as the hidden state. Their output comes beside.
    """
    first, product, hidden = widths.first, widths.product, widths.hidden
    if inside:  # gpt-oss on SM90 (fused_moe/gpt_oss_triton_kernels_moe.py)
        return ExpertScratch(0, widths.top_k * (first + product))
    if rules.keeps_workspace:
        return ExpertScratch(widths.top_k * (max(first, hidden) + max(product, hidden)), hidden)
    return ExpertScratch(0, widths.top_k * (max(first, hidden) + product))


def sparse_bytes(spec: ModelSpec, max_model_len: int) -> int:
    """Latents that sparse attention gathers (v1/attention/backends/mla/flashmla_sparse.py)."""
    sparse = (mixer for mixer in spec.mixers() if isinstance(mixer, LatentAttention) and mixer.indexer)
    rows = max((mixer.latent_dim + mixer.rope_dim for mixer in sparse), default=0)
    return HALF * rows * SPARSE_PREFILLS * max_model_len


def gathered_bytes(spec: ModelSpec, max_model_len: int) -> int:
    """Keys that the indexer gathers (get_max_prefill_buffer_size in v1/attention/backends/mla/indexer.py)."""
    latent = (mixer for mixer in spec.mixers() if isinstance(mixer, LatentAttention))
    keys = max((mixer.indexer.head_dim + SCALE for mixer in latent if mixer.indexer), default=0)
    return INDEXED_PREFILLS * keys * max_model_len


def score_bytes(spec: ModelSpec, rules: ProfileRules) -> int:
    """The scores that an indexer allocates for the profile (model_executor/layers/sparse_attn_indexer.py)."""
    scored = any(isinstance(mixer, LatentAttention | CompressedAttention) and mixer.indexer for mixer in spec.mixers())
    return SCORES if scored and rules.indexer_scores else 0


def shared_bytes(experts: int, spec: ModelSpec, max_model_len: int) -> int:
    """One buffer, as large as the largest wish; sparse attention keeps its first one where experts need a larger."""
    sparse = sparse_bytes(spec, max_model_len)
    wished = max(experts, gathered_bytes(spec, max_model_len))
    return sparse + wished if wished > sparse else sparse
