"""What llama.cpp starts with where the load does not fit: the most that fits, one more does not (common/fit.cpp)."""

import re
from typing import Any

import pytest

from hardware_catalog import get_accelerator
from model_catalog.lookup import find_entry
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.plan import EnginePlan
from sizing.scenario import make_scenario
from sizing.size import report_of

LLAMA_70B, GPT_OSS, DEEPSEEK = "meta-llama/Llama-3.3-70B-Instruct", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-V3"


def planned(model: str, accelerator: str = "rtx-4090", **fields: Any) -> EnginePlan:
    scenario = make_scenario({"model": model, "engine": "llama.cpp", "accelerator": accelerator} | fields)
    return plan(scenario, find_entry(model).spec, get_accelerator(accelerator))


def said(model: str, accelerator: str = "rtx-4090", **fields: Any) -> str | None:
    return report_of(planned(model, accelerator, **fields)).verdict.starts_with


def fits(model: str, accelerator: str = "rtx-4090", **fields: Any) -> bool:
    return planned(model, accelerator, **fields).fits(8192, 1)


def numbers(sentence: str | None) -> list[int]:
    assert sentence is not None
    return [int(word) for word in re.findall(r"\b\d+\b", sentence)]


def test_as_many_layers_as_fit_where_there_are_no_experts() -> None:
    layers, everything = numbers(said(LLAMA_70B, weights="q4_k_m"))
    assert everything == 81
    assert fits(LLAMA_70B, weights="q4_k_m", gpu_layers=layers)
    assert not fits(LLAMA_70B, weights="q4_k_m", gpu_layers=layers + 1)


def test_all_layers_without_as_few_experts_as_need_be() -> None:
    left, everything = numbers(said(GPT_OSS))
    assert everything == 36
    assert fits(GPT_OSS, cpu_moe_layers=left)
    assert not fits(GPT_OSS, cpu_moe_layers=left - 1)


def test_experts_are_counted_by_the_layers_that_have_some() -> None:
    """Three of DeepSeek-V3's 61 layers have none."""
    left, everything = numbers(said(DEEPSEEK, weights="q4_k_m"))
    assert everything == 58
    assert fits(DEEPSEEK, weights="q4_k_m", cpu_moe_layers=left + 3)
    assert not fits(DEEPSEEK, weights="q4_k_m", cpu_moe_layers=left + 2)


def test_fewer_layers_where_not_even_their_attention_fits() -> None:
    card = "rtx-3060-12gb"
    layers, everything = numbers(said(DEEPSEEK, card, weights="q4_k_m"))
    assert everything == 62
    assert fits(DEEPSEEK, card, weights="q4_k_m", gpu_layers=layers, cpu_moe_layers=62)
    assert not fits(DEEPSEEK, card, weights="q4_k_m", gpu_layers=layers + 1, cpu_moe_layers=62)


@pytest.mark.parametrize(
    "fields",
    [
        {"engine_version": "b7400"},
        {"engine_version": "ik 2026-06-01"},
        {"gpu_layers": 36},
        {"cpu_moe_layers": 1},
        {"tensor_split": [1]},
        {"accelerator": "b300-sxm"},
        {"other_memory_bytes": 2**36},
    ],
)
def test_nothing_is_said_where_all_is_left_as_it_was_set_or_fits_or_does_not_start(fields: dict[str, Any]) -> None:
    """--fit is of December 2025, and leaves alone what is set; with no memory at all nothing starts."""
    card = fields.pop("accelerator", "rtx-4090")
    assert said(GPT_OSS, card, **fields) is None


def test_several_gpus_are_filled_in_a_way_that_is_not_modelled() -> None:
    assert "fewer layers on the GPUs" in str(said(GPT_OSS, tensor_parallel=2))
