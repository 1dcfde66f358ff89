"""Receipt: what one public start-up log states and what it printed. tests/receipts/README.md describes the files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NO_LINK = "public file, repository not recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Figures of one start of one engine.

    `model` is the catalog id that stands for `name`, `shape` a name in shapes.json where the catalog has none;
    `resolved` says why it may stand for it, or why there is neither. `printed` holds the digits as they were printed.
    `inferred`: settings of the scenario that the log does not state, each with what shows them. `fitted`: printed
    figures that such a setting, or which model it is, was read off: they say nothing about the prediction.
    `unpredictable`: figures that what is stated does not determine, and `explained`: figures that are predicted
    wrongly, each with one sentence.
    """

    id: str
    engine: str
    name: str
    link: str
    version: str | None = None
    date: str | None = None
    gpu: str | None = None
    model: str | None = None
    shape: str | None = None
    resolved: str | None = None
    scenario: Mapping[str, Any] = field(default_factory=dict)
    inferred: Mapping[str, str] = field(default_factory=dict)
    fitted: Sequence[str] = ()
    printed: Mapping[str, str] = field(default_factory=dict)
    unpredictable: Mapping[str, str] = field(default_factory=dict)
    explained: Mapping[str, str] = field(default_factory=dict)
    notes: str | None = None

    @property
    def linked(self) -> bool:
        return self.link.startswith("https://")

    @property
    def values(self) -> dict[str, Any]:
        """Scenario values."""
        release = {} if self.version is None else {"engine_version": self.version}
        return {"model": self.model or self.shape or "-", "engine": self.engine, **release, **self.scenario}


def read_receipts(folder: Path) -> tuple[Receipt, ...]:
    """All receipts of a folder, by file and in each file's order."""
    files = sorted(path for path in folder.glob("*.json") if path.name != "shapes.json")
    return tuple(Receipt(**row) for path in files for row in json.loads(path.read_text(encoding="utf-8")))
