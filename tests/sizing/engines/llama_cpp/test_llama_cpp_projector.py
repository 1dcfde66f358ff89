"""The projector file (mmproj) of llama.cpp: loaded beside the model, left out for text alone."""

from typing import Any

import pytest

from components.start_command import start_command
from sizing.answer import find_accelerator, find_spec
from sizing.engines.plan import EnginePlan
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import plan

GEMMA = {"model": "google/gemma-3-27b-it", "engine": "llama.cpp", "weights": "q4_k_m"}
H100 = "h100-sxm5-80gb"


def planned(**values: Any) -> EnginePlan:
    scenario = make_scenario(GEMMA | {"accelerator": H100} | values)
    return plan(scenario, find_spec(scenario.model), find_accelerator(H100))


@pytest.mark.parametrize("limits", [{"image": 0}, {"image": 0, "video": 0, "audio": 0}])
def test_text_alone_leaves_it_out(limits: dict[str, int]) -> None:
    both, text = planned(), planned(media_limits=limits)
    assert both.ranks[0].encoder > 800 << 20
    assert text.ranks[0].encoder == 0
    assert text.ranks[0].weights == both.ranks[0].weights
    assert (text.ranks[0].usable or 0) - (both.ranks[0].usable or 0) == both.ranks[0].encoder


def test_the_start_command_names_it() -> None:
    limits: list[dict[str, Any]] = [{}, {"media_limits": {"image": 0}}]
    loaded, left_out = (start_command(make_scenario(GEMMA | each), planned(**each)) or "" for each in limits)
    assert "--mmproj mmproj-gemma-3-27b-it.gguf" in loaded
    assert "mmproj" not in left_out


@pytest.mark.parametrize("limits", [{"image": 4}, {"audio": 0}])
def test_it_is_whole_or_not_there(limits: dict[str, int]) -> None:
    with pytest.raises(ScenarioError, match="0 of every kind leaves it out") as caught:
        planned(media_limits=limits)
    assert caught.value.field == "media_limits"
