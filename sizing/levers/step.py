"""A step: Scenario fields with new values, and what people call the change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["setting", "precision", "load", "hardware"]
KINDS: tuple[Kind, ...] = ("setting", "precision", "load", "hardware")


@dataclass(frozen=True, slots=True)
class Step:
    text: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lever:
    """Steps from the smallest to the largest: where one suffices, so do those after it. `nearby` are worth a look
    when everything fits already."""

    kind: Kind
    steps: Sequence[Step]
    nearby: int = 1
