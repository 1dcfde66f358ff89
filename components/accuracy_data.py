"""The receipts with their predictions, worked out once for each state of the files, and the filters on them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from sizing.receipts.comparing import Comparison
from sizing.receipts.figures import KINDS
from sizing.receipts.predicting import compare
from sizing.receipts.receipt import Receipt, read_receipts
from sizing.receipts.shapes import read_shapes

FOLDER = Path(__file__).parents[1] / "tests" / "receipts"
ENGINES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama.cpp": "llama.cpp",
    "tensorrt-llm": "TensorRT-LLM",
    "minimum": "Any engine",
}
RELEASE = re.compile(r"v?(\d+\.\d+)")
LONGEST_VERSION = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Empty: all."""

    engine: str = ""
    family: str = ""
    version: str = ""
    figure: str = ""

    def keep(self, comparison: Comparison) -> bool:
        receipt = comparison.receipt
        return (
            self.engine in ("", receipt.engine)
            and self.family in ("", comparison.family)
            and self.version in ("", release(receipt))
            and self.figure in ("", comparison.figure.kind)
        )


def every_comparison() -> tuple[Comparison, ...]:
    return _compared(data_version())


def data_version() -> tuple[tuple[str, int], ...]:
    return tuple((path.name, path.stat().st_mtime_ns) for path in sorted(FOLDER.glob("*.json")))


@st.cache_data(show_spinner=False, max_entries=1)
def _compared(version: tuple[tuple[str, int], ...]) -> tuple[Comparison, ...]:
    return compare(read_receipts(FOLDER), read_shapes(FOLDER))


def without_figures() -> list[Receipt]:
    """Receipts that print nothing that could be compared."""
    return [receipt for receipt in read_receipts(FOLDER) if not receipt.printed]


def engine_name(receipt: Receipt) -> str:
    return ENGINES.get(receipt.engine, receipt.engine)


def release(receipt: Receipt) -> str:
    """0.19 of 0.19.2rc1; other builds by the start of their text."""
    if receipt.version is None:
        return "not stated"
    found = RELEASE.match(receipt.version)
    return found[1] if found else receipt.version[:LONGEST_VERSION].strip()


def options(comparisons: Iterable[Comparison], filters: Filters) -> dict[str, list[str]]:
    """Values of each filter; versions are those of the chosen engine."""
    every = list(comparisons)
    ours = [each for each in every if filters.engine in ("", each.receipt.engine)]
    known = {each.receipt.engine for each in every}
    return {
        "engine": [engine for engine in (*ENGINES, *sorted(known - ENGINES.keys())) if engine in known],
        "family": sorted({each.family for each in ours if each.family}),
        "version": sorted({release(each.receipt) for each in ours}, key=_by_number),
        "figure": [kind for kind in KINDS if any(each.figure.kind == kind for each in ours)],
    }


def _by_number(text: str) -> tuple[list[int], str]:
    return [int(part) for part in re.findall(r"\d+", text)], text
