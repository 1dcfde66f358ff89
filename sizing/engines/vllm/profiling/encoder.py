"""The encoder in vLLM's profile run: a batch of the largest items first, whose embeddings stay while the decoder runs.

Sources: vllm/multimodal/encoder_budget.py (vllm/v1/worker/utils.py of earlier releases), vllm/v1/core/
encoder_cache_manager.py, and profile_run of vllm/v1/worker/gpu_model_runner.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from model_catalog.spec import ModelSpec
from model_catalog.tensors import Tensor, TensorClass
from sizing.engines.vllm.profiling.largest_items import EncoderRules, Largest, largest_items
from sizing.engines.vllm.rules import Rules
from sizing.engines.vllm.runner import uses_second_runner
from sizing.media.limits import tower_kinds, unused_towers
from sizing.scenario import Scenario

HALF = 2
MASK_ALIGNMENT = 8  # PyTorch copies a mask into rows of a multiple (aten/src/ATen/native/transformers/attention.cpp)
UNLIMITED = 999  # items a request may carry where no limit is set (vllm/config/multimodal.py)
KINDS = {
    "image": TensorClass.VISION,
    "video": TensorClass.VISION,
    "vision_chunk": TensorClass.VISION,
    "audio": TensorClass.AUDIO,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """What the encoder is run on: `items` times the largest one of a kind. `budget`: tokens of the encoder's cache."""

    kind: str
    items: int
    budget: int
    largest: Largest

    @property
    def line(self) -> str:
        return (
            f"Encoder cache will be initialized with a budget of {self.budget} tokens, and profiled with {self.items} "
            f"{self.kind} items of the maximum feature size."
        )


@dataclass(frozen=True, slots=True)
class EncoderRun:
    """Bytes on one rank of the first stage: the encoder's own `peak`, and what is `kept` while the decoder runs."""

    peak: int = 0
    kept: int = 0

    def with_decoder(self, decoder: int) -> int:
        return max(self.peak, self.kept + decoder)


def is_run(scenario: Scenario, spec: ModelSpec, rules: Rules) -> bool:
    """Whether there is an encoder that start-up runs: one whose inputs are all limited to none is loaded at most."""
    second = uses_second_runner(scenario, spec, rules.profile)
    used = tower_kinds(spec) - unused_towers(scenario.media_limits, spec)
    return bool(used) and (rules.encoder.second_runner or not second)


def batch_of(scenario: Scenario, spec: ModelSpec, rules: EncoderRules) -> Batch | None:
    """None where nothing is encoded, or where the largest items of the family are not known."""
    kinds = largest_items(spec.model_type, scenario.max_model_len or 1, rules)
    allowed = {
        kind: each for kind, each in kinds.items() if _limit(scenario, kind) and KINDS[kind] in tower_kinds(spec)
    }
    if not allowed:
        return None
    kind = max(allowed, key=lambda kind: (allowed[kind].reckoned, kind if rules.ties_by_name else ""))
    largest = allowed[kind]
    budget = max(scenario.max_num_batched_tokens or 1, largest.reckoned)
    each_request = max(1, min(_limit(scenario, kind), (scenario.max_model_len or 1) // largest.reckoned))
    items = max(1, min(budget // largest.reckoned, (scenario.max_num_seqs or 1) * each_request))
    return Batch(kind, items, budget, largest)


def _limit(scenario: Scenario, kind: str) -> int:
    limit = getattr(scenario.media_limits, kind, None)
    return UNLIMITED if limit is None else int(limit)


def assumed(scenario: Scenario, spec: ModelSpec, rules: Rules) -> bool:
    """Whether an encoder is run whose largest items are not known."""
    return is_run(scenario, spec, rules) and batch_of(scenario, spec, rules.encoder) is None


def encoder_run(scenario: Scenario, spec: ModelSpec, rules: Rules, otherwise: int) -> EncoderRun:
    """`otherwise`: bytes kept for a family whose items are not known, a fitted constant.

    The first runner keeps what the encoder reads, too.
    """
    if not is_run(scenario, spec, rules):
        return EncoderRun()
    batch = batch_of(scenario, spec, rules.encoder)
    if batch is None:
        return EncoderRun(kept=otherwise)
    pixels, within = _widths(spec, KINDS[batch.kind], scenario.tensor_parallel)
    read = HALF * batch.items * batch.largest.item.patches * pixels
    at_once = batch.largest.at_once or batch.items * batch.largest.item.patches
    given = HALF * _width_out(spec) * _embeddings(batch, rules.encoder)
    kept = given if uses_second_runner(scenario, spec, rules.profile) else read + given
    mask = _mask_numbers(at_once) if batch.largest.masked else 0
    return EncoderRun(peak=read + HALF * (at_once * within + mask), kept=kept)


def _mask_numbers(patches: int) -> int:
    padded = -(-patches // MASK_ALIGNMENT) * MASK_ALIGNMENT
    return patches * (patches if padded == patches else patches + padded)


def _embeddings(batch: Batch, rules: EncoderRules) -> int:
    """In 0.11 and 0.12 also those spread over what is reckoned for a video with its marks."""
    encoded, reckoned = batch.items * batch.largest.item.encoded, batch.items * batch.largest.reckoned
    return encoded + reckoned if rules.spreads and reckoned > encoded else encoded


@lru_cache(maxsize=1024)
def _width_out(spec: ModelSpec) -> int:
    """Numbers of an embedding: the decoder's hidden state, and for Qwen3-VL one more for each deep merger."""
    names = [tensor.name for tower in spec.towers for tensor in tower.tensors]
    return spec.hidden_size * (1 + sum("deepstack" in name and name.endswith("fc2.weight") for name in names))


@lru_cache(maxsize=1024)
def _widths(spec: ModelSpec, kind: TensorClass, ranks: int) -> tuple[int, int]:
    """Numbers of a patch that are read, and that the widest layer holds of it on one rank."""
    tensors = [tensor for tower in spec.towers for tensor in tower.tensors if tensor.kind is kind]
    return _numbers_of_a_patch(tensors), _width_within(tensors, ranks)


def _numbers_of_a_patch(tensors: list[Tensor]) -> int:
    """Pixels and colours that the patch embedding reads."""
    shapes = [t.shape for t in tensors if "patch_embed" in t.name and t.name.endswith("weight") and len(t.shape) > 1]
    return prod(shapes[0][1:]) if shapes else 0


def _width_within(tensors: list[Tensor], ranks: int) -> int:
    """Numbers of a patch that a layer holds at its widest, in its attention or in its MLP.

    Whole on every rank: the layer's input, the state after attention and its norm (with a gate the residual and the
    output too), and learned positions. Divided: queries, keys and values, both rotations of the first two and the
    output; or what the MLP's first projections and its activation give (qwen2_5_vl.py, qwen3_vl.py).
    """
    layers = list(_layer_shapes(tensors))
    hidden = max((columns for name, (_, columns) in layers if "q_proj" in name), default=0)
    queries = max((rows for name, (rows, _) in layers if "q_proj" in name), default=0)
    firsts = [rows for name, (rows, columns) in layers if columns == hidden and ("fc1" in name or "gate_proj" in name)]
    gated = any("gate_proj" in name for name, _ in layers)
    mlp = (5 if gated else 3) * hidden + (3 if gated else 2) * max(firsts, default=0) // ranks
    positions = hidden if any("pos_emb" in tensor.name for tensor in tensors) else 0
    return positions + max(2 * hidden + 8 * queries // ranks, mlp)


def _layer_shapes(tensors: list[Tensor]) -> Iterator[tuple[str, tuple[int, int]]]:
    for tensor in tensors:
        if ".layers." in tensor.name and tensor.name.endswith("weight") and len(tensor.shape) == 2:
            yield tensor.name, (tensor.shape[0], tensor.shape[1])
