"""Peak of the profile run: one forward of max_num_batched_tokens, then the sampler.

Source: profile_run and _dummy_run of vllm/v1/worker/gpu_model_runner.py and vllm/v1/worker/gpu/model_runner.py.
"""

from dataclasses import dataclass
from functools import lru_cache

from model_catalog.spec import LatentAttention, Layer, ModelSpec
from sizing.activations import dense_width, expert_widths, mixer_width
from sizing.engines.vllm.profiling.rules import ProfileRules
from sizing.engines.vllm.profiling.sampler import kept_bytes, sampler_bytes
from sizing.engines.vllm.profiling.workspaces import expert_scratch, score_bytes, shared_bytes
from sizing.engines.vllm.runner import uses_second_runner
from sizing.engines.vllm.weights.mxfp4 import Kernel, mxfp4_experts
from sizing.placement import stage_sizes
from sizing.scenario import Scenario

HALF = 2
CONTEXT_CHUNK = 64 * 1024  # tokens of context that latent attention projects at once, where there are as many
# PyTorch's workspace for cuBLAS (aten/src/ATen/cuda/CublasHandlePool.cpp): 32 MiB on SM90 and SM100, else 8 and more.
LARGE_BLAS, BLAS = 32 << 20, (8 << 20) + (128 << 10)


@dataclass(frozen=True, slots=True)
class Widths:
    """Of one token on one rank of a pipeline stage, in 16-bit numbers.

    `states`: the hidden state and the residual that pass through it. `beside`: the widest of what one layer puts
    beside them. `workspace`: of its experts, where they share one.
    """

    states: int
    beside: int
    workspace: int


def activation_bytes(
    scenario: Scenario, spec: ModelSpec, rules: ProfileRules, capability: tuple[int, int]
) -> list[int]:
    """Of one rank of each pipeline stage: the larger of the forward's and the sampler's, which is on the last."""
    tokens = scenario.max_num_batched_tokens or 1
    each = stage_widths(spec, scenario, rules, capability)
    blas = LARGE_BLAS if capability[0] in (9, 10) else BLAS
    peaks = []
    for number, widths in enumerate(each):
        beside = max(HALF * tokens * widths.beside, context_bytes(scenario, spec, rules), score_bytes(spec, rules))
        forward = HALF * tokens * (widths.states + _held_by_caller(widths, scenario, rules)) + beside
        sampler, kept = _sampling(scenario, spec, rules) if number == len(each) - 1 else (0, 0)
        shared = shared_bytes(HALF * tokens * widths.workspace, spec, scenario.max_model_len or 1)
        received = HALF * tokens * widths.states if number else 0  # make_empty_intermediate_tensors, kept
        peaks.append(max(forward, sampler) + received + kept + shared + blas)
    return peaks


def _held_by_caller(widths: Widths, scenario: Scenario, rules: ProfileRules) -> int:
    """Run eagerly, the loop over the layers holds a layer's input until its output is there (models/llama.py)."""
    return 0 if rules.compiles and not scenario.enforce_eager else widths.states // 2


def _sampling(scenario: Scenario, spec: ModelSpec, rules: ProfileRules) -> tuple[int, int]:
    """Peak while sampling, beside the hidden states of all tokens and twice those of the rows; and what is kept."""
    if scenario.pooling:  # poolers have no sampler
        return 0, 0
    tokens, sequences = scenario.max_num_batched_tokens or 1, scenario.max_num_seqs or 1
    rows = min(tokens, sequences)
    second = uses_second_runner(scenario, spec, rules)
    states = HALF * spec.hidden_size * (tokens + 2 * rows)
    kept = kept_bytes(sequences, spec.vocab_size, rules, second=second)
    return states + sampler_bytes(rows, spec.vocab_size, rules, second=second), kept


def context_bytes(scenario: Scenario, spec: ModelSpec, rules: ProfileRules) -> int:
    """Keys and values of a chunk of context, which latent attention allocates to be safe (mla_attention.py)."""
    latent = [mixer for mixer in spec.mixers() if isinstance(mixer, LatentAttention)]
    if not latent or not rules.latent_context:
        return 0
    blocks = (scenario.max_num_seqs or 1) * (scenario.block_size or 1)
    tokens = max(blocks, min(max(8 * (scenario.max_model_len or 1), 4 * blocks), CONTEXT_CHUNK))
    width = max(mixer.heads * (mixer.nope_dim + mixer.value_dim) for mixer in latent)
    return HALF * tokens * width // scenario.tensor_parallel


def stage_widths(
    spec: ModelSpec, scenario: Scenario, rules: ProfileRules, capability: tuple[int, int]
) -> tuple[Widths, ...]:
    placement = scenario.placement
    ranks = 1 if scenario.expert_parallel else placement.expert_ranks
    mxfp4 = mxfp4_experts(scenario, spec, capability)
    inside = mxfp4 is not None and mxfp4.kernel is Kernel.TRITON
    return _stage_widths(spec, scenario.pipeline_parallel, scenario.tensor_parallel, ranks, rules, inside)


@lru_cache(maxsize=1024)
def _stage_widths(
    spec: ModelSpec, pipeline: int, ranks: int, expert_ranks: int, rules: ProfileRules, inside: bool
) -> tuple[Widths, ...]:
    """`expert_ranks`: ranks that each expert is divided over. `inside`: as in expert_scratch."""
    each = iter(list(spec.each_layer()))
    stages = [[next(each) for _ in range(size)] for size in stage_sizes(spec.num_layers, pipeline)]
    widths = []
    for layers in stages:
        distinct = {id(layer): layer for layer in layers}.values()
        routed = [found for layer in distinct if (found := expert_widths(layer, spec.hidden_size, expert_ranks))]
        scratch = [expert_scratch(found, rules, inside=inside) for found in routed]
        others = max((_beside(layer, ranks) for layer in distinct), default=0)
        widths.append(
            Widths(
                states=2 * spec.hidden_size * streams_of(layers),
                beside=max([others, *(each.passing for each in scratch)]),
                workspace=max((each.kept for each in scratch), default=0),
            )
        )
    return tuple(widths)


def _beside(layer: Layer, ranks: int) -> int:
    mixers = max((mixer_width(mixer) for mixer in layer.mixers), default=0)
    dense = dense_width(layer.feed_forward) if layer.feed_forward else 0
    return max(mixers, dense) // ranks


def streams_of(layers: list[Layer]) -> int:
    """Hidden states side by side: hyper-connections mix all of them for each layer (DeepSeek-V4)."""
    for layer in layers[:1]:
        for tensor in layer.tensors:
            if tensor.name.endswith("_hc.fn"):
                hidden = next(t.shape[0] for t in layer.tensors if t.name == "input_layernorm.weight")
                return tensor.shape[-1] // hidden
    return 1
