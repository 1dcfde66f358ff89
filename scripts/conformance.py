"""Compare every catalog entry with what transformers builds: `python -m scripts.conformance [ID ...]`.

Writes results/conformance.json: a line for each entry, whether its parameters and cache bytes are equal, and where
not the figures or the reason that the library cannot run it. Needs requirements-live.txt; takes about 20 minutes.
"""

import json
import sys
from pathlib import Path
from typing import Any

from live.conformance import check_config
from live.dry_run import DryRunError
from model_catalog.entry import Entry
from model_catalog.fields import ConfigError
from model_catalog.lookup import all_entries, find_entry

RESULTS = Path(__file__).parent / "results" / "conformance.json"


# Why an entry differs, where we know. A difference without a cause fails the tests.
CAUSES = {
    "xlstm": "The library keeps one counter of 8 bytes beside the states, once for the whole cache.",
    "rwkv5": "The library has no RWKV 5 class; it reads the file as RWKV 4, by the class that the file names.",
    "mllama": "Predicted with one image; the prefill compared is of text only, which leaves the cross layers empty.",
}


def check_entry(entry: Entry) -> dict[str, Any]:
    """One row of the results."""
    row: dict[str, Any] = {"model": entry.id, "model_type": entry.config.get("model_type")}
    try:
        found = check_config(entry.config)
    except DryRunError as error:
        return row | {"result": "not built", "reason": str(error)}
    except ConfigError as error:
        return row | {"result": "not read", "reason": error.message}
    return row | {
        "result": "different" if found.differences else "equal",
        "parameters": found.parameters,
        "compared": [list(point) for point in found.compared],
        "differences": [vars(difference) for difference in found.differences],
        "cause": CAUSES.get(str(row["model_type"])) if found.differences else None,
        "doubts": list(found.doubts),
    }


def summary(rows: list[dict[str, Any]]) -> str:
    built = [row for row in rows if row["result"] in ("equal", "different", "not read")]
    equal = sum(row["result"] == "equal" for row in built)
    return f"{equal} of {len(built)} buildable entries equal; {len(rows) - len(built)} cannot be built."


def main(ids: list[str]) -> None:
    entries = [find_entry(each) for each in ids] or list(all_entries())
    rows = []
    for entry in entries:
        rows.append(check_entry(entry))
        print(f"{rows[-1]['result']:<10} {entry.id}", flush=True)
    print(summary(rows))
    if not ids:
        RESULTS.parent.mkdir(exist_ok=True)
        lines = ",\n".join(json.dumps(row) for row in rows)
        RESULTS.write_text(f'{{"summary": {json.dumps(summary(rows))}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(sys.argv[1:])
