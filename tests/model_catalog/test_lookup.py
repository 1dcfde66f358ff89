"""Finding entries by id, alias and near miss."""

import json
from pathlib import Path
from typing import Any

import pytest

from model_catalog import lookup
from model_catalog.lookup import UnknownModel, all_entries, all_ids, close_ids, entry_ids, find_entry

INDEX = Path(__file__).parents[3] / "shared" / "configs" / "INDEX.jsonl"

# Layers, as the models' papers and cards state them.
LAYERS = {
    "meta-llama/Llama-3.1-8B-Instruct": 32,
    "meta-llama/Meta-Llama-3.1-8B-Instruct": 32,
    "meta-llama/Meta-Llama-3-8B": 32,
    "meta-llama/Meta-Llama-3-70B-Instruct": 80,
    "meta-llama/Llama-3.3-70B-Instruct": 80,
    "meta-llama/Llama-3.1-405B-Instruct": 126,
    "meta-llama/Llama-3.2-1B": 16,
    "meta-llama/Llama-3.2-3B-Instruct": 28,
    "meta-llama/Llama-2-7b-hf": 32,
    "meta-llama/Llama-2-70b-chat-hf": 80,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 48,
    "mistralai/Mistral-7B-v0.1": 32,
    "mistralai/Mistral-7B-Instruct-v0.1": 32,
    "mistralai/Mistral-7B-Instruct-v0.3": 32,
    "mistralai/Mixtral-8x7B-Instruct-v0.1": 32,
    "mistralai/Mixtral-8x22B-v0.1": 56,
    "mistralai/Mistral-Nemo-Instruct-2407": 40,
    "mistralai/Mistral-Small-24B-Instruct-2501": 40,
    "Qwen/Qwen2.5-7B-Instruct": 28,
    "Qwen/Qwen2.5-72B": 80,
    "Qwen/Qwen2.5-32B": 64,
    "Qwen/Qwen2.5-32B-Instruct": 64,
    "Qwen/Qwen2.5-72B-Instruct-AWQ": 80,
    "Qwen/QwQ-32B": 64,
    "Qwen/Qwen3-0.6B": 28,
    "Qwen/Qwen3-8B": 36,
    "Qwen/Qwen3-32B": 64,
    "Qwen/Qwen3-30B-A3B": 48,
    "Qwen/Qwen3-235B-A22B": 94,
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 48,
    "deepseek-ai/DeepSeek-V3": 61,
    "deepseek-ai/DeepSeek-V3-0324": 61,
    "deepseek-ai/DeepSeek-R1": 61,
    "deepseek-ai/DeepSeek-R1-Distill-Llama-8B": 32,
    "deepseek-ai/DeepSeek-R1-Distill-Llama-70B": 80,
    "deepseek-ai/DeepSeek-V2-Lite": 27,
    "google/gemma-2-9b-it": 42,
    "google/gemma-2-27b": 46,
    "google/gemma-3-27b-it": 62,
    "google/gemma-7b-it": 28,
    "openai/gpt-oss-20b": 24,
    "openai/gpt-oss-120b": 36,
    "microsoft/phi-4": 40,
    "microsoft/Phi-3-mini-4k-instruct": 32,
    "tiiuae/falcon-40b-instruct": 60,
    "moonshotai/Kimi-K2-Instruct": 61,
    "moonshotai/Kimi-K2-Thinking": 61,
    "ibm-granite/granite-4.0-h-small": 40,
    "google/gemma-4-26B-A4B-it": 30,
    "google/gemma-3n-E4B-it": 35,
    "zai-org/GLM-4.5-Air": 46,
    "zai-org/GLM-4.6": 92,
    "HuggingFaceH4/zephyr-7b-beta": 32,
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0": 22,
    "EleutherAI/gpt-neox-20b": 44,
    "gpt2": 12,
}


# Context limits, as the checkpoints' config.json states them where it is not their base model's.
LIMITS = {
    "Qwen/Qwen2.5-14B-Instruct": 32_768,
    "Qwen/Qwen2.5-14B": 131_072,
    "Qwen/QwQ-32B": 40_960,
    "Qwen/Qwen3-8B-Base": 32_768,
    "Qwen/Qwen3-4B-Thinking-2507": 262_144,
    "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8": 262_144,
    "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B": 131_072,
    "moonshotai/Kimi-K2-Instruct-0905": 262_144,
    "microsoft/Phi-4-reasoning-plus": 32_768,
    "zai-org/GLM-4.6": 202_752,
}


def stated_layers(config: dict[str, Any]) -> int | None:
    part = {**config, **(config.get("text_config") or {})}
    return part.get("num_hidden_layers") or part.get("n_layer") or part.get("num_layers")


@pytest.mark.parametrize(("model_id", "layers"), LAYERS.items())
def test_well_known_ids_resolve(model_id: str, layers: int) -> None:
    entry = find_entry(model_id)
    assert model_id in (entry.id, *entry.aliases)
    assert stated_layers(dict(entry.config)) == layers


@pytest.mark.parametrize(("model_id", "limit"), LIMITS.items())
def test_a_build_with_a_context_limit_of_its_own_is_no_alias_of_its_base(model_id: str, limit: int) -> None:
    assert find_entry(model_id).config["max_position_embeddings"] == limit


@pytest.mark.skipif(not INDEX.is_file(), reason="the collection of full configs is not here")
def test_every_collected_id_resolves_with_its_exactness() -> None:
    for row in map(json.loads, INDEX.read_text().splitlines()):
        entry = find_entry(row["hf_id"])
        if entry.id == row["hf_id"]:
            assert entry.provenance.exact == row["exact"], row["hf_id"]


@pytest.mark.parametrize(
    ("one", "other"),
    [  # pairs with equal parameter counts that differ in context or window
        ("mistralai/Mistral-7B-Instruct-v0.1", "mistralai/Mistral-7B-Instruct-v0.2"),
        ("Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen/Qwen3-235B-A22B", "Qwen/Qwen3-235B-A22B-Instruct-2507"),
        ("microsoft/Phi-3-mini-4k-instruct", "microsoft/Phi-3-mini-128k-instruct"),
        ("meta-llama/Meta-Llama-3-8B", "meta-llama/Llama-3.1-8B"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-FP8"),
    ],
)
def test_models_that_differ_in_what_a_sequence_may_take_stay_apart(one: str, other: str) -> None:
    assert find_entry(one) is not find_entry(other)


def test_a_longer_variant_is_no_alias() -> None:
    assert not {"01-ai/Yi-34B-200K", "01-ai/Yi-1.5-34B-32K"} & set(find_entry("01-ai/Yi-34B").aliases)


def test_case_does_not_matter() -> None:
    assert find_entry("QWEN/qwen3-8b") is find_entry("Qwen/Qwen3-8B")
    assert find_entry("GPT2") is find_entry("openai-community/gpt2")


def test_an_unknown_id_names_close_ones() -> None:
    with pytest.raises(UnknownModel, match=r'^"Qwen/Qwen3-9B" is not in the model catalog; did you mean .*Qwen3-8B'):
        find_entry("Qwen/Qwen3-9B")


def test_a_name_without_its_organisation_suggests_the_whole_id() -> None:
    assert close_ids("Llama-3.1-8B")[0] == "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize("model_id", ["", "/", "../aliases", "../../etc/passwd", "Qwen/", "x" * 1_000_000])
def test_nonsense_is_an_unknown_model_in_a_short_sentence(model_id: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        find_entry(model_id)
    assert len(str(caught.value)) < 500


def test_all_ids_are_entries_newest_first_then_aliases() -> None:
    entries = all_entries()
    assert [entry.id for entry in entries] == list(entry_ids()) == list(all_ids()[: len(entries)])
    ages = [entry.age_key for entry in entries]
    assert ages == sorted(ages, reverse=True)
    assert set(all_ids()[len(entries) :]) == {alias for entry in entries for alias in entry.aliases}
    assert len(set(all_ids())) == len(all_ids())


def test_one_look_up_parses_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for cached in (lookup._entry, lookup._aliases, lookup._aliases_of, lookup._read_lines):
        cached.cache_clear()
    parsed: list[str] = []
    parse = json.loads

    def parse_and_count(text: str) -> Any:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(json, "loads", parse_and_count)
    find_entry("meta-llama/Llama-3.1-8B")
    assert len(parsed) == 2  # the line and the aliases
    assert sum(map(len, parsed)) < 100_000


@pytest.mark.parametrize("name", ["Llama-3.1-8B-Instruct", "qwen3-8b", "gemma-3-27b-it"])
def test_of_copies_with_one_name_the_makers_own_comes_first(name: str) -> None:
    makers = {"l": "meta-llama/Llama-3.1-8B-Instruct", "q": "Qwen/Qwen3-8B", "g": "google/gemma-3-27b-it"}
    assert close_ids(name)[0] == makers[name[0].lower()]
