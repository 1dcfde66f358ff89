"""A visit as a file: what is saved comes back; damaged and foreign files are told in a sentence."""

import json
from datetime import date
from typing import Any

import pytest

from components.export_file import LONGEST_FILE, FileFault, from_file, to_file
from components.pins import Pin
from components.scenario_state import Held, held_from
from sizing.answer import answer

DAY = date(2026, 11, 29)


def visit(**query: str) -> Held:
    held = held_from({"model": "google/gemma-3-27b-it", "context_length": "32768"} | query, "plan")
    assert held.complaints == ()
    return held


def opened(content: object) -> Held:
    return from_file(json.dumps(content).encode(), "plan")


def saved(held: Held) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(to_file(held, DAY))
    return content


def test_what_is_saved_comes_back() -> None:
    held = visit(
        units="GB", accelerator="", total_memory_bytes=str(24 * 2**30), accelerator_name="My card", prices="b200~3"
    )
    held.values |= {"kv_dtype": {"k": "fp8", "v": "bf16"}, "enforce_eager": False, "memory_fraction": 0.875}
    held.pins = (Pin(dict(held.values), "mine"), Pin(dict(held.values) | {"batch_size": 3}, "", "other", "{}"))
    back = from_file(to_file(held, DAY).encode(), "plan")
    assert back.complaints == ()
    assert back.settings() == held.settings()


def test_a_config_of_any_length_comes_back() -> None:
    held = visit(model="config.json")
    held.config_text = json.dumps({"model_type": "llama", "filler": [str(i * 7919) for i in range(9_000)]})
    back = from_file(to_file(held, DAY).encode(), "plan")
    assert back.config_text == held.config_text


def test_a_scenario_alone_and_a_report_are_opened_too() -> None:
    values = {"model": "Qwen/Qwen3.5-27B", "batch_size": 7, "engine": "minimum"}
    assert opened(values).values["batch_size"] == 7
    assert opened(answer(values)).values["batch_size"] == 7


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "damaged or not JSON"),
        (b"\xff\xfe\x00", "damaged or not JSON"),
        (b'{"kv_atlas_file": 1, "scenario": {"model"', "damaged or not JSON"),
        (b"[" * 100_000, "damaged or not JSON"),
        (b"[1, 2]", "not one that KV Atlas saved"),
        (b'{"hello": "world"}', "not one that KV Atlas saved"),
        (b'{"kv_atlas_file": 1}', "not one that KV Atlas saved"),
        (b'{"kv_atlas_file": 1, "scenario": 5}', "not one that KV Atlas saved"),
        (b'{"kv_atlas_file": 2, "scenario": {}}', "version is 2; this KV Atlas opens version 1"),
        (b'{"kv_atlas_file": true, "scenario": {}}', "version is true"),
        (b" " * (LONGEST_FILE + 1), "larger than 8,000,000 bytes"),
    ],
)
def test_files_that_cannot_be_opened(data: bytes, sentence: str) -> None:
    with pytest.raises(FileFault, match=sentence):
        from_file(data, "plan")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scenario": {"model": "x", "batch_size": "many"}}, "In the file, batch_size is "),
        ({"scenario": {"model": "x", "batch_size": {"a": {"b": 1}}}}, "In the file, batch_size"),
        ({"scenario": {"model": "x", "colour": 1}}, '"colour" in the file is not a setting'),
        ({"units": "KB"}, 'units is "KB"'),
        ({"extra": 1}, '"extra" in the file'),
        ({"pins": 5}, "The pins in the file cannot be read"),
        ({"pins": [{"scenario": {}}]}, "Pin A in the file is left out: model is missing."),
    ],
)
def test_what_is_wrong_in_a_file_is_named_and_the_rest_kept(changes: dict[str, Any], sentence: str) -> None:
    held = visit(engine="sglang")
    held.pins = (Pin(dict(held.values), "kept"),)
    content = saved(held) | changes
    back = opened(content)
    assert any(sentence in complaint for complaint in back.complaints)
    if "pins" not in changes:
        assert back.pins == held.pins
    if "scenario" not in changes:
        assert back.values == held.values
