"""The solved limits hold, and one step further does not."""

from typing import Any

import pytest

from hardware_catalog import all_accelerators, get_accelerator
from model_catalog.lookup import find_entry
from model_catalog.spec import ModelSpec
from sizing.engines import ENGINES
from sizing.levers.hardware import memory
from sizing.limits import fewest_gpus, least_fraction, limits_of, longest_start, smallest_card
from sizing.scenario import Scenario, make_scenario
from sizing.size import plan, size
from tests.sizing.engines.vllm import models as m

LLAMA, GEMMA, DEEPSEEK = "meta-llama/Llama-3.1-8B-Instruct", "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-V3"


def asked(**values: Any) -> tuple[Scenario, ModelSpec]:
    usual = {"model": LLAMA, "engine": "vllm", "accelerator": "h100-sxm5-80gb", "context_length": 8192, "batch_size": 4}
    return make_scenario(usual | values), find_entry({**usual, **values}["model"]).spec


def fits(scenario: Scenario, spec: ModelSpec, **values: Any) -> bool:
    changed = scenario.model_copy(update=values)
    assert changed.accelerator is not None
    return bool(size(changed, spec, get_accelerator(changed.accelerator)).verdict.fits)


@pytest.mark.parametrize(
    ("spec", "settings", "longest"),
    [
        (m.spec_of((40, m.heads(64, 128))), {}, 32_752),
        (m.spec_of((40, m.heads(64, 128))), {"tensor_parallel": 2}, 65_520),
        (m.spec_of((80, m.heads(8, 128))), {}, 131_056),
    ],
)
def test_longest_start_is_what_vllm_proposes(spec: ModelSpec, settings: dict[str, Any], longest: int) -> None:
    """vLLM 0.33 with 40 GiB for the cache: "the estimated maximum model length is ..."."""
    values = {"model": "x", "engine": "vllm", "available_kv_bytes": 40 * m.GIB, "max_model_len": 131_072}
    assert longest_start(make_scenario(values | settings), spec) == longest


def test_the_longest_start_starts_and_one_token_more_does_not() -> None:
    scenario, spec = asked(accelerator="rtx-4090")
    longest = longest_start(scenario, spec)
    assert longest is not None and 0 < longest < 131_072
    card = get_accelerator("rtx-4090")
    for length, starts in ((longest, True), (longest + 1, False)):
        longer = scenario.model_copy(update={"max_model_len": length, "context_length": min(8192, length)})
        assert plan(longer, spec, card).fits(length, 1) is starts


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "minimum", "transformers"])
def test_the_least_fraction_holds_the_load_and_a_hundredth_less_does_not(engine: str) -> None:
    scenario, spec = asked(engine=engine)
    least = least_fraction(scenario, spec)
    assert least is not None
    assert fits(scenario, spec, memory_fraction=least)
    assert not fits(scenario, spec, memory_fraction=round(least - 0.01, 2))


def test_llama_cpp_has_neither_limit() -> None:
    found = limits_of(*asked(engine="llama.cpp"))
    assert (found.longest_start, found.least_fraction) == (None, None)
    assert found.smallest_card is not None


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_no_smaller_card_of_the_vendor_holds_the_load(engine: str) -> None:
    scenario, spec = asked(engine=engine)
    card = smallest_card(scenario, spec)
    assert card is not None
    assert fits(scenario, spec, accelerator=card.id)
    released = [each for each in all_accelerators() if each.vendor == "NVIDIA" and each.release_year]
    released = [each for each in released if each.kind != "unified"]
    smaller = [each for each in released if memory(each) < memory(card)]
    assert not any(fits(scenario, spec, accelerator=each.id) for each in smaller)
    assert memory(card) > 16_060_522_496  # what the weights alone take


def test_a_model_of_671_billion_parameters_needs_two_nodes_of_h100() -> None:
    """DeepSeek-V3 publishes 684.5 billion parameters, nearly all of one byte: more than eight cards of 80 GB hold."""
    scenario, spec = asked(model=DEEPSEEK)
    fewest = fewest_gpus(scenario, spec)
    assert fewest is not None
    assert fewest.placement.gpus == 16
    assert limits_of(scenario.model_copy(update={"accelerator": "h200-sxm-141gb"}), spec).fewest_gpus == (
        scenario.model_copy(update={"accelerator": "h200-sxm-141gb", "tensor_parallel": 8})
    )


def test_nothing_suffices_for_what_no_card_holds() -> None:
    scenario, spec = asked(model=DEEPSEEK, engine="minimum", context_length=100_000, batch_size=100_000)
    assert limits_of(scenario, spec).smallest_card is None
    assert fewest_gpus(scenario, spec) is None


def test_the_longest_start_does_not_depend_on_the_average_of_a_load() -> None:
    plain, mixed = asked(accelerator="rtx-4090"), asked(accelerator="rtx-4090", average_context_length=4096)
    assert longest_start(*mixed) == longest_start(*plain) != 0
