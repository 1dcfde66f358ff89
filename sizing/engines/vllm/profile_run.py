"""Peak of the profile run (ENGINE_MEMORY 11): one forward of max_num_batched_tokens, then the sampler."""

from model_catalog.spec import LatentAttention, ModelSpec
from model_catalog.tensors import TensorClass
from sizing.activations import widest_layer
from sizing.engines.calibration import VllmConstants
from sizing.scenario import Scenario

HALF = 2
SPARSE_PREFILLS = 5  # longest sequences that the workspace holds
TOWERS = frozenset({TensorClass.VISION, TensorClass.AUDIO})


def activation_bytes(scenario: Scenario, spec: ModelSpec, constants: VllmConstants) -> int:
    """The larger of the widest layer's activations and the sampler's scratch; they are not there at once."""
    tokens = scenario.max_num_batched_tokens or 1
    rows = 0 if scenario.pooling else min(tokens, scenario.max_num_seqs or 1)  # poolers have no sampler
    layers = widest_layer(spec, tokens, scenario.tensor_parallel)
    peak = max(layers, round(rows * spec.vocab_size * constants.logit_bytes))
    return peak + sparse_workspace(spec, scenario.max_model_len or 1)


def sparse_workspace(spec: ModelSpec, max_model_len: int) -> int:
    """Rows of latents that sparse attention gathers for prefill (vllm/v1/attention/backends/mla/flashmla_sparse.py)."""
    mixers = (mixer for run in spec.layers for mixer in run.layer.mixers)
    sparse = (mixer for mixer in mixers if isinstance(mixer, LatentAttention) and mixer.indexer)
    rows = max((mixer.latent_dim + mixer.rope_dim for mixer in sparse), default=0)
    return HALF * rows * SPARSE_PREFILLS * max_model_len


def encoder_bytes(spec: ModelSpec, constants: VllmConstants) -> int:
    """Of the encoder run on a batch of images, which comes on top."""
    has_tower = any(tensor.kind in TOWERS for tower in spec.towers for tensor in tower.tensors)
    return constants.encoder if has_tower else 0
