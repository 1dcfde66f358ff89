"""Against plans that vLLM 0.33's own planning code made for catalog models (data/plans_033.json says how)."""

import json
from pathlib import Path
from typing import Any

import pytest

from model_catalog.lookup import find_entry
from sizing.engines.vllm import ENGINE
from sizing.placement import PlacementError
from sizing.scenario import Scenario, ScenarioError, make_scenario
from tests.sizing.engines.vllm import models as m

DATA = json.loads((Path(__file__).parent / "data" / "plans_033.json").read_text())
SETTINGS = (
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "decode_context_parallel",
    "expert_parallel",
    "kv_dtype",
    "max_model_len",
    "prefix_caching",
)


def settings_of(row: dict[str, Any]) -> dict[str, Any]:
    return {"max_num_seqs": 256, **{name: row[name] for name in SETTINGS if name in row}}


def scenario_of(row: dict[str, Any]) -> Scenario:
    return make_scenario({"model": row["model"], "engine": "vllm", **m.H100, **settings_of(row)})


@pytest.mark.parametrize("row", DATA["plans"], ids=lambda row: f"{row['id']} {row['model']}")
def test_plans(row: dict[str, Any]) -> None:
    spec = find_entry(row["model"]).spec
    planned = ENGINE.plan(scenario_of(row), spec, None)
    assert m.groups(spec, **settings_of(row)) == [tuple(group) for group in row["groups"]]
    assert m.stage_block_bytes(planned) == row["stage_block_bytes"]
    assert planned.needed_kv_bytes == row["needed_bytes"]
    assert planned.printed.num_blocks == row["num_blocks"]
    assert planned.printed.kv_tokens == row["printed_tokens"]
    assert planned.printed.max_concurrency == row["max_concurrency"]


@pytest.mark.parametrize("row", DATA["refused"], ids=lambda row: f"{row['id']} {row['model']}")
def test_refusals(row: dict[str, Any]) -> None:
    with pytest.raises((ScenarioError, PlacementError)):
        ENGINE.plan(scenario_of(row), find_entry(row["model"]).spec, None)
