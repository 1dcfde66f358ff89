"""Buffers that vLLM's modules hold beside their parameters, whole on every rank."""

from model_catalog.spec import Attention, CompressedAttention, LatentAttention, Layer, ModelSpec
from model_catalog.tensors import TensorClass
from sizing.engines.vllm.cache.block_sizes import INDEXED
from sizing.placement import heads_per_rank
from sizing.scenario import Scenario

HALF = 2
QWEN_IMAGES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")
IMAGE_POSITIONS = 8192
SCALES = 24  # six fp32 numbers with which an attention layer scales queries, keys, values and probabilities
# Bytes of a table's number where it is not in 16 bits; DeepSeek-V3.2 has one fp32 table each for latents and indexer.
TABLE_BYTES = {"gpt_oss": 4, "deepseek_v4": 4, "deepseek_v32": 8}
# Model types that run on the transformers backend, whose rotary embeddings have no tables.
TRANSFORMERS_BACKEND = frozenset(
    {"bitnet", "cwm", "glm", "gpt_neox", "mistral4", "olmo", "olmo2", "olmo3", "persimmon", "phi", "seed_oss"}
    | {"smollm3", "starcoder2"}
)


def buffer_bytes(scenario: Scenario, spec: ModelSpec, layers: list[Layer], *, first: bool) -> int:
    """Of one rank of the pipeline stage with these layers, the `first` or another."""
    tokens = scenario.max_num_batched_tokens or 0
    own = rope_bytes(spec) + chosen_bytes(spec, tokens, scenario.tensor_parallel)
    own += sum(
        _layer_bytes(layer, scenario.expert_parallel and scenario.placement.expert_ranks > 1) for layer in layers
    )
    if first:
        own += image_rope_bytes(spec) + image_feature_bytes(spec, tokens) + layer_embedding_bytes(spec, tokens)
    return own


def _layer_bytes(layer: Layer, maps_experts: bool) -> int:
    """Scales of the attention, and where each expert is (int32)."""
    attention = any(isinstance(mixer, Attention | LatentAttention) for mixer in layer.mixers)
    experts = layer.feed_forward.experts if maps_experts and layer.feed_forward else 0
    return SCALES * attention + 4 * experts


def rope_bytes(spec: ModelSpec) -> int:
    """Cosines and sines of every position."""
    if spec.model_type in TRANSFORMERS_BACKEND:
        return 0
    return sum(rope.positions * rope.dim for rope in spec.ropes) * TABLE_BYTES.get(spec.model_type, HALF)


def chosen_bytes(spec: ModelSpec, tokens: int, ranks: int) -> int:
    """What an indexer chooses for every token of a batch (int32), one buffer for all layers.

    Beside plain attention it chooses blocks, for each KV head.
    """
    sizes = [0]
    for mixer in spec.mixers():
        if isinstance(mixer, LatentAttention | CompressedAttention) and mixer.indexer:
            sizes.append(mixer.indexer.top_k)
        elif isinstance(mixer, Attention) and mixer.indexer:
            sizes.append(mixer.indexer.top_k // INDEXED * heads_per_rank(mixer.kv_heads, ranks))
    return 4 * tokens * max(sizes)


def image_rope_bytes(spec: ModelSpec) -> int:
    """Qwen's vision towers have a table of half a head for 8,192 positions."""
    if not spec.model_type.startswith(QWEN_IMAGES):
        return 0
    vision = [t for tower in spec.towers for t in tower.tensors if t.kind is TensorClass.VISION and t.units]
    heads = [t.shape[0] // t.units for t in vision if t.name.endswith("attn.q_proj.weight")]
    return HALF * IMAGE_POSITIONS * (max(heads, default=0) // 2)


def image_feature_bytes(spec: ModelSpec, tokens: int) -> int:
    """Features that Qwen3-VL adds to its first layers, one set a merger."""
    names = [t.name for tower in spec.towers for t in tower.tensors]
    mergers = sum("deepstack" in name and name.endswith("fc2.weight") for name in names)
    return HALF * tokens * spec.hidden_size * mergers


def layer_embedding_bytes(spec: ModelSpec, tokens: int) -> int:
    """Gemma 4's embeddings for each layer, of a batch."""
    if not spec.model_type.startswith("gemma4"):
        return 0
    return HALF * tokens * sum(t.shape[-1] for t in spec.tensors if "embed_tokens_per_layer" in t.name)
