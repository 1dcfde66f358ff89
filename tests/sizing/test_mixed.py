import pytest

from model_catalog.lookup import find_entry
from sizing.scenario import ScenarioError, make_scenario
from sizing.size import size

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
TOKEN = 131_072  # bytes of a token of Llama-3.1-8B in bf16


def test_one_request_counts_at_its_longest_and_the_others_at_the_average() -> None:
    """40 GiB hold 327,680 tokens: one of 8,192 and 155 of 2,048 leave 2,048 for one more."""
    values = {"model": LLAMA, "engine": "minimum", "context_length": 8192, "average_context_length": 2048}
    scenario = make_scenario(values | {"batch_size": 16, "available_kv_bytes": 40 * 2**30})
    mixed = size(scenario, find_entry(LLAMA).spec).mixed
    assert mixed is not None
    assert mixed.live_bytes_per_gpu == 16 * 2048 * TOKEN
    assert mixed.need_bytes_per_gpu == (15 * 2048 + 8192) * TOKEN
    assert mixed.max_batch == 1 + (327_680 - 8192) // 2048


def test_without_an_average_there_is_no_mixed_load() -> None:
    assert size(make_scenario({"model": LLAMA}), find_entry(LLAMA).spec).mixed is None


def test_an_average_above_the_longest_is_refused() -> None:
    with pytest.raises(ScenarioError, match="An average of 9 tokens is more than the 8 tokens"):
        make_scenario({"model": LLAMA, "context_length": 8, "average_context_length": 9})


def test_an_average_above_the_length_that_is_put_in_is_refused() -> None:
    """No length is asked for, and the model takes requests of 100 tokens at most."""
    values = {"model": LLAMA, "engine": "minimum", "max_model_len": 100, "average_context_length": 101}
    with pytest.raises(ScenarioError, match="An average of 101 tokens is more than the 100 tokens"):
        size(make_scenario(values), find_entry(LLAMA).spec)
