"""The entries' data: shape, order, sources, and that leaving fields out of a config changed nothing."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self

import pytest
from pydantic import BaseModel, ConfigDict, PositiveInt, StringConstraints, model_validator

from model_catalog.entry import Entry, doubts_of
from model_catalog.fields import ConfigError
from model_catalog.importers.read import read_config
from model_catalog.lookup import DATA, all_entries, find_entry
from model_catalog.spec import ModelSpec

FILES = sorted((DATA / "entries").glob("*.json"))
CONFIGS = Path(__file__).parents[3] / "shared" / "configs"
needs_configs = pytest.mark.skipif(not CONFIGS.is_dir(), reason="the collection of full configs is not here")

Id = Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$")]
Date = Annotated[str, StringConstraints(pattern=r"^20[12]\d-(0[1-9]|1[0-2])(-[0-3]\d)?$")]
Text = Annotated[str, StringConstraints(min_length=3, max_length=300)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ProvenanceSchema(Strict):
    source: Text
    exact: bool
    note: Text | None = None
    verified: Text | None = None

    @model_validator(mode="after")
    def a_copy_says_what_it_is(self) -> Self:
        assert self.exact or self.note
        assert not (self.exact and self.verified)
        return self


class CheckpointSchema(Strict):
    parameters: PositiveInt | None = None
    parameters_source: Text | None = None
    parameters_by_dtype: dict[str, PositiveInt] | None = None
    stored_bytes: PositiveInt | None = None
    stored_bytes_source: Text | None = None
    note: Text | None = None
    unstated_quantization: Text | None = None

    @model_validator(mode="after")
    def figures_have_sources(self) -> Self:
        assert (self.parameters is None) == (self.parameters_source is None)
        assert (self.stored_bytes is None) == (self.stored_bytes_source is None)
        assert not self.parameters_by_dtype or sum(self.parameters_by_dtype.values()) == self.parameters
        return self


class EntrySchema(Strict):
    id: Id
    released: Date | None = None
    sorted_as: Date | None = None
    licence: Text | None = None
    provenance: ProvenanceSchema
    checkpoint: CheckpointSchema | None = None
    pools: bool = False
    config: dict[str, Any]

    @model_validator(mode="after")
    def has_one_date_and_a_model_type(self) -> Self:
        assert (self.released is None) != (self.sorted_as is None)
        assert isinstance(self.config["model_type"], str)
        return self


def raw_entries(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return entries


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_valid_entries_of_its_organisation_newest_first(path: Path) -> None:
    entries = [EntrySchema.model_validate(entry) for entry in raw_entries(path)]
    assert {entry.id.partition("/")[0] for entry in entries} == {path.stem}
    dates = [entry.released or entry.sorted_as or "" for entry in entries]
    assert dates == sorted(dates, reverse=True)
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(entries) + 2  # one a line, and two brackets


def test_ids_are_unique_and_no_alias_is_an_entry() -> None:
    ids = [entry["id"] for path in FILES for entry in raw_entries(path)]
    pairs = json.loads((DATA / "aliases.json").read_text(encoding="utf-8"), object_pairs_hook=list)
    aliases = [alias for alias, _ in pairs]
    known = [known.lower() for known in ids + aliases]
    assert len(set(known)) == len(known)
    assert {target for _, target in pairs} <= set(ids)


def test_the_data_is_small() -> None:
    files = [*FILES, DATA / "aliases.json"]
    assert sum(path.stat().st_size for path in files) < 3_000_000


def test_no_field_without_a_size_is_kept() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    for name in ("eos_token_id", "attention_dropout", "initializer_range", "auto_map", "id2label", "rms_norm_eps"):
        assert f'"{name}"' not in text


SIXTEEN_BIT = 2


@pytest.mark.parametrize(
    ("model_id", "parameters", "stored_bytes"),
    [  # safetensors totals of the Hub, and metadata.total_size of the checkpoints' index files
        ("mistralai/Mistral-7B-Instruct-v0.3", 7_248_023_552, 14_496_047_104),
        ("HuggingFaceTB/SmolLM3-3B", 3_075_098_624, 6_150_197_248),
        ("mistralai/Devstral-Small-2507", 23_572_403_200, 47_144_806_400),
        ("bigscience/bloom", 176_247_271_424, 352_494_542_848),
    ],
)
def test_published_sizes(model_id: str, parameters: int, stored_bytes: int) -> None:
    stored = find_entry(model_id).checkpoint
    assert (stored.parameters, stored.stored_bytes) == (parameters, stored_bytes)
    assert stored_bytes == parameters * SIXTEEN_BIT


def test_stored_elements_explain_the_stored_bytes() -> None:
    """4 bytes at most an element; half a byte at least (int32-packed 4-bit weights are listed unpacked)."""
    for entry in all_entries():
        stored = entry.checkpoint
        if stored.parameters and stored.stored_bytes:
            assert stored.parameters / 2 < stored.stored_bytes <= stored.parameters * 4, entry.id


def grades_touched(entry: Entry) -> tuple[bool, bool]:
    doubts = doubts_of(entry)
    return any(doubt.touches_kv for doubt in doubts), any(doubt.touches_weights for doubt in doubts)


def test_an_original_file_is_not_doubted() -> None:
    assert doubts_of(find_entry("Qwen/Qwen3-8B")) == []


def test_a_copy_that_nothing_confirms_is_assumed() -> None:
    entry = find_entry("facebook/cwm")
    assert grades_touched(entry) == (True, True)
    assert doubts_of(entry)[0].message.startswith("The config is a copy, not the original file: ")


def test_a_build_whose_groups_are_those_of_its_siblings_is_assumed() -> None:
    assert grades_touched(find_entry("Qwen/Qwen2.5-14B-Instruct-AWQ")) == (True, True)
    assert grades_touched(find_entry("Qwen/Qwen2.5-32B-Instruct-AWQ")) == (False, False)  # the files' sizes show them


def test_a_copy_with_the_published_parameter_count_is_only_told() -> None:
    entry = find_entry("allenai/OLMo-7B-hf")
    assert grades_touched(entry) == (False, False)
    assert "6,888,095,744 parameters equal the published count" in doubts_of(entry)[0].message


def test_a_quantization_that_the_config_leaves_out_is_assumed() -> None:
    entry = find_entry("nvidia/DeepSeek-V3.1-NVFP4")
    assert "quantization_config" not in entry.config
    assert grades_touched(entry) == (True, True)


def index_rows() -> list[dict[str, Any]]:
    lines = (CONFIGS / "INDEX.jsonl").read_text().splitlines() if CONFIGS.is_dir() else []
    return [json.loads(line) for line in lines]


def full_config(row: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((CONFIGS / row["file"]).read_text())
    return config


def without_patterns(spec: ModelSpec) -> ModelSpec:
    """The spec without the names that an entry may hold as patterns."""
    stored = replace(spec.quantization, skipped=()) if spec.quantization else None
    return replace(spec, quantization=stored)


def outcome(config: Mapping[str, Any]) -> ModelSpec | str:
    try:
        return read_config(config)
    except ConfigError as error:
        return error.message


# Parts that a copy lacks and its published parameter count confirms
MENDED = {"google/gemma-3-12b-it": {"vision_config": find_entry("google/gemma-3-27b-it").config["vision_config"]}}


@needs_configs
@pytest.mark.parametrize("row", index_rows(), ids=lambda row: row["hf_id"])
def test_the_kept_fields_give_the_spec_of_the_whole_file(row: dict[str, Any]) -> None:
    entry = find_entry(row["hf_id"])
    whole, kept = outcome(full_config(row) | MENDED.get(entry.id, {})), outcome(entry.config)
    if isinstance(whole, ModelSpec) and isinstance(kept, ModelSpec) and "quantized_layers" in json.dumps(entry.config):
        whole, kept = without_patterns(whole), without_patterns(kept)
    assert kept == whole


@needs_configs
def test_the_layers_of_a_mixed_checkpoint_are_matched_by_exactly_one_pattern() -> None:
    row = next(row for row in index_rows() if row["hf_id"] == "nvidia/MiniMax-M3-NVFP4")
    stated = full_config(row)["quantization_config"]["quantized_layers"]
    patterns = find_entry(row["hf_id"]).config["quantization_config"]["quantized_layers"]
    compiled = {re.compile(name.removeprefix("re:")): rule for name, rule in patterns.items()}
    for name, rule in stated.items():
        assert [found for pattern, found in compiled.items() if pattern.fullmatch(name)] == [rule], name
