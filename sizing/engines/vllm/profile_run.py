"""Peak of the profile run (ENGINE_MEMORY 11): one forward of max_num_batched_tokens, then the sampler."""

from model_catalog.spec import Attention, CompressedAttention, FeedForward, LatentAttention, Layer, Mixer, ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.calibration import VllmConstants
from sizing.scenario import Scenario

HALF = 2
SPARSE_PREFILLS = 5  # longest sequences that the workspace holds
TOWERS = frozenset({TensorClass.VISION, TensorClass.AUDIO})


def activation_bytes(scenario: Scenario, spec: ModelSpec, constants: VllmConstants) -> int:
    """The larger of the widest layer's activations and the sampler's scratch; they are not there at once."""
    tokens = scenario.max_num_batched_tokens or 1
    rows = min(tokens, scenario.max_num_seqs or 1)
    layers = max((layer_bytes(run.layer, spec, tokens, scenario.tensor_parallel) for run in spec.layers), default=0)
    peak = max(layers, round(rows * spec.vocab_size * constants.logit_bytes))
    return peak + sparse_workspace(spec, scenario.max_model_len or 1)


def sparse_workspace(spec: ModelSpec, max_model_len: int) -> int:
    """Rows of latents that sparse attention gathers for prefill (vllm/v1/attention/backends/mla/flashmla_sparse.py)."""
    mixers = (mixer for run in spec.layers for mixer in run.layer.mixers)
    sparse = (mixer for mixer in mixers if isinstance(mixer, LatentAttention) and mixer.indexer)
    rows = max((mixer.latent_dim + mixer.rope_dim for mixer in sparse), default=0)
    return HALF * rows * SPARSE_PREFILLS * max_model_len


def layer_bytes(layer: Layer, spec: ModelSpec, tokens: int, ranks: int) -> int:
    """Of `tokens` tokens: two hidden states and the widest of what stands beside them."""
    wide = max((_attention(mixer) // ranks for mixer in layer.mixers), default=0)
    dense, routed = _feed_forward(layer.feed_forward, spec.hidden_size, ranks)
    return HALF * tokens * (2 * spec.hidden_size + max(wide, dense, routed))


def _attention(mixer: Mixer) -> int:
    """Queries, keys, values and output of one token."""
    match mixer:
        case Attention():
            return (mixer.heads + mixer.kv_heads) * (mixer.head_dim + mixer.value_dim)
        case LatentAttention():
            return mixer.heads * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
        case CompressedAttention():
            return 2 * mixer.heads * mixer.head_dim
        case _:
            return 0


def _feed_forward(part: FeedForward | None, hidden: int, ranks: int) -> tuple[int, int]:
    """Gate, up and their product of a dense part; the two workspaces of the Triton experts."""
    if part is None:
        return 0, 0
    if not part.experts:
        return 3 * part.intermediate // ranks, 0
    gate_up = 2 * part.intermediate // ranks
    return 0, part.top_k * (hidden + max(gate_up, hidden))


def encoder_bytes(spec: ModelSpec, constants: VllmConstants) -> int:
    """Of the encoder run on a batch of images, which comes on top."""
    has_tower = any(tensor.kind in TOWERS for tower in spec.towers for tensor in tower.tensors)
    return constants.encoder if has_tower else 0
