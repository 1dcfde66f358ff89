"""Models by their dimensions, for the tests of engine sglang."""

from dataclasses import replace
from functools import cache
from typing import Any

from model_catalog.spec import (
    CompressedAttention,
    ModelSpec,
    Recurrent,
    Tower,
)
from model_catalog.tensors import Tensor, TensorClass
from sizing.engines.plan import EnginePlan
from sizing.engines.sglang import ENGINE
from sizing.scenario import make_scenario
from tests.sizing.engines.dimensions import INDEXER, attention, gated_delta, kda, latent, mamba2, spec_of


@cache
def predicting(spec: ModelSpec) -> ModelSpec:
    """The model with a prediction layer, which EAGLE runs."""
    tensor = Tensor("eh_proj.weight", TensorClass.PREDICTION, (1, 1))
    return replace(spec, towers=(Tower(name="multi-token prediction", tensors=(tensor,), layers=1),))


def plan_of(spec: ModelSpec, **settings: Any) -> EnginePlan:
    drafter = settings.get("speculative") or {}
    if drafter.get("method") == "eagle" and spec.draft is None:
        spec = predicting(spec)
    return ENGINE.plan(make_scenario({"model": "test", "engine": "sglang", **settings}), spec, None)


def lightning(heads: int, dim: int) -> Recurrent:
    return Recurrent(kind="lightning", heads=heads, state_elements=heads * dim * dim)


def short_conv(channels: int) -> Recurrent:
    return Recurrent(kind="short_conv", heads=channels, state_elements=0, conv_channels=channels, conv_kernel=3)


# Dimensions are those of the published configs but for the three whose split of layers follows from the printed
# sizes: Ling 3.0 tiny, and the sizes of Qwen 3.5 and LFM2 that the logs leave unnamed.
MODELS: dict[str, ModelSpec] = {
    "QwQ-32B": spec_of((64, attention(40, 8, 128)), model_type="qwen2"),
    "Qwen2.5-1.5B": spec_of((28, attention(12, 2, 128)), model_type="qwen2", max_context=32_768),
    "Qwen3-14B": spec_of((40, attention(40, 8, 128)), model_type="qwen3", max_context=40_960),
    "Qwen3-30B-A3B": spec_of((48, attention(32, 4, 128)), model_type="qwen3_moe"),
    "Llama-3.1-8B": spec_of((32, attention(32, 8, 128))),
    "Devstral-24B": spec_of((40, attention(32, 8, 128)), model_type="mistral3"),
    "Gemma-4-12B": spec_of(
        (40, attention(16, 8, 256, window=1024)), (8, attention(16, 1, 512)), model_type="gemma4_unified"
    ),
    "Gemma-4-31B": spec_of((50, attention(32, 16, 256, window=1024)), (10, attention(32, 4, 512)), model_type="gemma4"),
    "Gemma-4-26B-A4B": spec_of(
        (25, attention(16, 8, 256, window=1024)), (5, attention(16, 2, 512)), model_type="gemma4"
    ),
    "MiMo-V2-Flash": spec_of(
        (39, attention(64, 8, 192, 128, window=128)), (9, attention(64, 4, 192, 128)), model_type="mimo_v2_flash"
    ),
    "gpt-oss-120b": spec_of((18, attention(64, 8, 64, window=128)), (18, attention(64, 8, 64)), model_type="gpt_oss"),
    "Gemma-3-27B": spec_of(
        (52, attention(32, 16, 128, window=1024)), (10, attention(32, 16, 128)), model_type="gemma3"
    ),
    "Kimi-K2.5": spec_of((61, latent(64)), model_type="kimi_k25"),
    "DeepSeek-V3.2": spec_of((61, latent(128, INDEXER)), model_type="deepseek_v32"),
    "Ling-3.0-flash": spec_of((35, kda(32, 128)), (7, latent(32)), model_type="bailing_hybrid"),
    "Ling-3.0-tiny": spec_of((18, kda(16, 128)), (6, latent(16)), model_type="bailing_hybrid"),
    "Qwen3-Next": spec_of((36, gated_delta(16, 32)), (12, attention(16, 2, 256)), model_type="qwen3_next"),
    "Qwen3.5-397B-A17B": spec_of((45, gated_delta(16, 64)), (15, attention(32, 2, 256)), model_type="qwen3_5_moe"),
    "Qwen3.8-27B": spec_of((48, gated_delta(16, 48)), (16, attention(24, 4, 256)), model_type="qwen3_5"),
    "MiniCPM-SALA": spec_of((24, lightning(32, 128)), (8, attention(32, 2, 128)), model_type="minicpm_sala"),
    "Granite-4.0-H-Small": spec_of(
        (36, mamba2(128, 64, 1, 128)), (4, attention(32, 8, 128)), model_type="granitemoehybrid"
    ),
    "LFM2-700M": spec_of((10, short_conv(1536)), (6, attention(24, 8, 64)), model_type="lfm2"),
    "DeepSeek-V4-Flash": spec_of(
        (2, CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=0)),
        (21, CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=4, indexer=INDEXER)),
        (20, CompressedAttention(heads=64, head_dim=512, rope_dim=64, window=128, ratio=128)),
        model_type="deepseek_v4",
        max_context=1_048_576,
    ),
}
