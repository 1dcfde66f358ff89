"""One catalog entry of each model type: parameters and cache bytes as transformers really builds and fills them.

The sweep over all entries is scripts/conformance.py; its last result is scripts/results/conformance.json.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from model_catalog.lookup import all_entries

pytest.importorskip("torch", reason="torch is not installed; requirements-live.txt has it")
pytest.importorskip("transformers", reason="transformers is not installed; requirements-live.txt has it")

from live.conformance import check_config
from live.dry_run import DryRunError

RESULTS = Path(__file__).parents[2] / "scripts" / "results" / "conformance.json"
AT_LEAST = 0.95  # of the entries that the library can build


def _one_of_each_type() -> Iterator[str]:
    """The smallest entry of each type that the last sweep found equal."""
    rows = [row for row in json.loads(RESULTS.read_text())["rows"] if row["result"] == "equal"]
    for model_type in sorted({row["model_type"] for row in rows}):
        yield min((row for row in rows if row["model_type"] == model_type), key=lambda row: row["parameters"])["model"]


@pytest.mark.conformance
@pytest.mark.parametrize("model", list(_one_of_each_type()))
def test_the_library_builds_and_caches_what_is_predicted(model: str) -> None:
    entry = next(entry for entry in all_entries() if entry.id == model)
    try:
        found = check_config(entry.config, most_points=2)
    except DryRunError as error:
        pytest.skip(f"this transformers release cannot run it: {error}")
    assert not found.differences


def test_at_least_95_of_100_buildable_entries_are_equal_and_the_others_have_a_cause() -> None:
    rows = json.loads(RESULTS.read_text())["rows"]
    built = [row for row in rows if row["result"] != "not built"]
    equal = [row for row in built if row["result"] == "equal"]
    assert len(equal) / len(built) >= AT_LEAST
    assert all(row["cause"] for row in built if row["result"] != "equal")
    assert all(row["reason"] for row in rows if row["result"] == "not built")
