"""Models by their dimensions, for the tests of engine tensorrt-llm."""

from typing import Any

from model_catalog.spec import ModelSpec
from sizing.engines.plan import EnginePlan
from sizing.engines.tensorrt_llm import ENGINE
from sizing.scenario import make_scenario
from tests.sizing.engines.dimensions import attention, spec_of


def plan_of(spec: ModelSpec, **settings: Any) -> EnginePlan:
    return ENGINE.plan(make_scenario({"model": "test", "engine": "tensorrt-llm", **settings}), spec, None)


LLAMA_8B = spec_of((32, attention(32, 8, 128)))
MHA_7B = spec_of((32, attention(32, 32, 128)), max_context=32_768)  # Qwen1.5-7B, Llama-2-7B
TINYLLAMA = spec_of((22, attention(32, 4, 64)), max_context=2048)
QWEN3_06B = spec_of((28, attention(16, 8, 128)), model_type="qwen3", max_context=40_960)
GPT_OSS_20B = spec_of((12, attention(64, 8, 64, window=128)), (12, attention(64, 8, 64)), model_type="gpt_oss")
