"""Logical cache bytes of published models, to the byte, through the command line.

The figures are 16-bit caches (state: conv bf16 with kernel − 1 columns, recurrent fp32), worked out from each model's
config and agreed on by at least one other calculator or by hand.
"""

import io
import json

import pytest

from sizing.command_line import main

CASES = [
    ("meta-llama/Llama-3.1-8B-Instruct", 8192, 16, 17_179_869_184),
    ("meta-llama/Meta-Llama-3-70B-Instruct", 8192, 8, 21_474_836_480),
    ("mistralai/Mistral-7B-v0.1", 32_768, 1, 536_870_912),
    ("google/gemma-3-27b-it", 131_072, 1, 11_173_625_856),
    ("openai/gpt-oss-120b", 131_072, 1, 4_836_556_800),
    ("deepseek-ai/DeepSeek-V3", 131_072, 1, 9_210_691_584),
    ("Qwen/Qwen3-Next-80B-A3B-Instruct", 131_072, 1, 3_298_492_416),
    ("Qwen/Qwen3.5-27B", 131_072, 1, 8_743_878_656),
    ("google/gemma-4-31B-it", 131_072, 1, 11_576_279_040),
    ("moonshotai/Kimi-K2-Instruct", 131_072, 1, 9_210_691_584),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", 131_072, 1, 2_291_032_064),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 131_072, 1, 7_650_410_496),
]


@pytest.mark.parametrize(("model", "tokens", "batch", "logical_bytes"), CASES, ids=[case[0] for case in CASES])
def test_logical_bytes(model: str, tokens: int, batch: int, logical_bytes: int) -> None:
    out = io.StringIO()
    flags = ["--model", model, "--engine", "minimum", "--context-length", str(tokens), "--batch-size", str(batch)]
    assert main(flags, io.StringIO(), out, io.StringIO()) == 0
    report = json.loads(out.getvalue())
    assert report["cache"]["logical_bytes"] == logical_bytes
    assert report["cache"]["reserved_bytes"] == logical_bytes
