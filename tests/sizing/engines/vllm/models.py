"""Models by their dimensions, and the figures of a plan, for the tests of engine vllm."""

from dataclasses import replace
from typing import Any

from model_catalog.spec import (
    Attention,
    CompressedAttention,
    CrossAttention,
    FeedForward,
    Indexer,
    Mixer,
    ModelSpec,
    Recurrent,
    Tower,
)
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm import ENGINE
from sizing.engines.vllm.cache.pool import PoolCache, blocks_of
from sizing.engines.vllm.resolving import resolved_of
from sizing.scenario import make_scenario
from tests.sizing.engines import dimensions
from tests.sizing.engines.dimensions import INDEXER, gated_delta, kda, latent, mamba2

GIB = 2**30
H100: dict[str, Any] = {"max_num_batched_tokens": 8192, "available_kv_bytes": 40 * GIB}


def spec_of(*runs: tuple[int, Mixer | None], model_type: str = "llama", **fields: Any) -> ModelSpec:
    """Runs of layers with one mixer each, without weights."""
    return dimensions.spec_of(
        *runs,
        model_type=model_type,
        max_context=fields.pop("max_context", 1_048_576),
        feed_forward=FeedForward(intermediate=64),
        **fields,
    )


def pattern(times: int, *runs: tuple[int, Mixer | None], model_type: str = "llama") -> ModelSpec:
    """The runs over and over."""
    return spec_of(*(runs * times), model_type=model_type)


def heads(kv_heads: int, head_dim: int, value_dim: int = 0, query_heads: int = 64, **fields: Any) -> Attention:
    return Attention(heads=query_heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=value_dim or head_dim, **fields)


MLA = latent(128)
SPARSE = latent(128, INDEXER)

LLAMA_8B = spec_of((32, heads(8, 128, query_heads=32)))
GEMMA3_27B = spec_of(
    *(((5, heads(16, 128, query_heads=32, window=1024)), (1, heads(16, 128, query_heads=32))) * 10),
    (2, heads(16, 128, query_heads=32, window=1024)),
)
GPT_OSS_120B = pattern(18, (1, heads(8, 64, window=128)), (1, heads(8, 64)))
GEMMA4_26B = pattern(5, (5, heads(8, 256, query_heads=16, window=1024)), (1, heads(2, 512, query_heads=16)))
GEMMA4_26B_VL = replace(GEMMA4_26B, model_type="gemma4")
GEMMA4_31B = pattern(10, (5, heads(16, 256, query_heads=32, window=1024)), (1, heads(4, 512, query_heads=32)))
GEMMA3N_E4B = spec_of(
    *(((4, heads(2, 256, query_heads=8, window=512)), (1, heads(2, 256, query_heads=8))) * 4),
    (15, heads(2, 256, query_heads=8, reuses_cache=True)),
)
MIMO_V2_FLASH = spec_of((9, heads(4, 192, 128)), (39, heads(8, 192, 128, window=128)))
SCOUT = pattern(12, (3, heads(8, 128, query_heads=40, chunk=8192)), (1, heads(8, 128, query_heads=40)))
DEEPSEEK_V3 = spec_of((61, MLA), model_type="deepseek_v3")
DEEPSEEK_V32 = spec_of((61, SPARSE), model_type="deepseek_v32")
WHISPER = spec_of(
    *(
        (
            (1, heads(20, 64, query_heads=20)),
            (1, CrossAttention(heads=20, kv_heads=20, head_dim=64, value_dim=64, source_tokens=1500)),
        )
        * 32
    )
)
QWEN3_NEXT = pattern(12, (3, gated_delta(16, 32, 128)), (1, heads(2, 256, query_heads=16)), model_type="qwen3_next")
QWEN35_35B = pattern(
    10, (3, gated_delta(16, 32, 128, "fp32")), (1, heads(2, 256, query_heads=16)), model_type="qwen3_5_moe"
)
NEMOTRON_H_8B = pattern(4, (6, mamba2(128, 64, 8, 128)), (1, heads(8, 128, query_heads=32)), model_type="nemotron_h")
NEMOTRON_H_56B = spec_of((54, mamba2(256, 64, 8, 256)), (10, heads(8, 128)), model_type="nemotron_h")
NEMOTRON_3_NANO = spec_of((23, mamba2(64, 64, 8, 128)), (6, heads(2, 128, query_heads=32)), model_type="nemotron_h")
KIMI_LINEAR = spec_of(
    (20, kda(32, 128)),
    (7, latent(32)),
    model_type="kimi_linear",
)
KIMI_K3 = spec_of(
    (69, kda(96, 128)),
    (24, latent(96)),
    model_type="kimi_k3",
)
LFM2_1B = spec_of(
    (10, Recurrent(kind="short_conv", heads=0, state_elements=0, conv_channels=2048, conv_kernel=3)),
    (6, heads(8, 64, query_heads=32)),
    model_type="lfm2",
)


def compressed(ratio: int) -> CompressedAttention:
    """DeepSeek-V4-Flash's attention."""
    indexer = Indexer(head_dim=128, heads=64, top_k=512, pool=4) if ratio == 4 else None
    return CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=ratio, indexer=indexer)


V4_FLASH = spec_of(
    (2, compressed(0)),
    *(((1, compressed(4)), (1, compressed(128))) * 20),
    (1, compressed(4)),
    model_type="deepseek_v4",
)
WITH_PREDICTION = (Tower(name="multi-token prediction", tensors=(), layers=1),)


def plan(spec: ModelSpec, accelerator: Any = None, **settings: Any) -> EnginePlan:
    return ENGINE.plan(make_scenario({"model": "test", "engine": "vllm", **H100, **settings}), spec, accelerator)


def groups(spec: ModelSpec, accelerator: Any = None, **settings: Any) -> list[tuple[int, int, int]]:
    """(layers, block size, blocks of one sequence of max_model_len) of each group."""
    scenario = make_scenario({"model": "test", "engine": "vllm", **H100, **settings})
    resolved = resolved_of(scenario, spec, accelerator)
    load, longest = resolved.blocks.load, resolved.scenario.max_model_len or 0
    return [
        (len(group.members), group.first.block_size, blocks_of((group,), load).per_request(longest))
        for group in resolved.layout.groups
    ]


def block_bytes(planned: EnginePlan) -> int:
    """Bytes of a block on the fullest stage."""
    return max(stage_block_bytes(planned))


def stage_block_bytes(planned: EnginePlan) -> list[int]:
    return [rank.cache.block_bytes for rank in planned.ranks if isinstance(rank.cache, PoolCache)]
