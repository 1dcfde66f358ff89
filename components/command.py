"""The command line that gives the same answer."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from components.format import listed
from components.url_state import ARRIVAL, DEFAULTS, FIELDS


def command(values: Mapping[str, Any]) -> str:
    """`python -m sizing …` with every value that is not a Scenario's default, one flag a line."""
    flags = [
        f"--{name.replace('_', '-')} {shlex.quote(_text(values[name]))}"
        for name in FIELDS
        if values.get(name) is not None and (name in ARRIVAL or values[name] != DEFAULTS[name])
    ]
    return " \\\n    ".join(["python -m sizing", *flags])


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    if isinstance(value, list | tuple):
        return listed(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
