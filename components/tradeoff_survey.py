"""The scenario and its overlays, each with its plans and its frontier on one pair of axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log2
from typing import Any

import numpy as np

from components.solve import Outcome, solve
from components.tradeoff_variants import Variant
from sizing.map import Band, Frontier, bands_of, frontier, most_sequences_at
from sizing.placement import PlacementError
from sizing.scenario import LARGEST_BATCH, LONGEST_CONTEXT, ScenarioError, make_scenario

ROWS = 160
LEAST_LENGTH = 512
LEAST_TOP_BATCH, MOST_TOP_BATCH = 1024, 16_384
UNKNOWN_LIMIT = 131_072


@dataclass(frozen=True)
class Axes:
    """Both ranges of the map, in powers of two. `limit` is the model's own longest context."""

    bottom: int
    top: int
    right: int
    limit: int | None


@dataclass(frozen=True)
class Line:
    """A scenario on the map. Without known memory, or where it cannot be, there are no corners."""

    name: str
    outcome: Outcome
    bands: tuple[Band, ...] = ()
    corners: Frontier = field(default_factory=lambda: Frontier((), ()))
    variant: Variant | None = None


@dataclass(frozen=True)
class Survey:
    """`lines` begin with the scenario itself."""

    axes: Axes
    lines: tuple[Line, ...]
    tokens: int
    batch: int

    @property
    def own(self) -> Line:
        return self.lines[0]


def survey(
    values: Mapping[str, Any], config_text: str, own: Outcome, own_name: str, variants: Sequence[Variant]
) -> Survey:
    """`own` is the answered scenario of `values`."""
    assert own.spec and own.planned
    tokens, batch = own.planned.scenario.context_length or 1, own.planned.scenario.batch_size
    limit = own.planned.scenario.max_model_len if own.spec.max_context is None else own.spec.max_context
    bottom, top = _lengths(limit, tokens)
    found: list[tuple[str, Mapping[str, Any], Outcome, Variant | None]] = [(own_name, values, own, None)]
    for each in variants:
        changed = {**values, **each.changes}
        found.append((each.label, changed, solve(changed, config_text), each))
    lines = [
        Line(name, outcome, _bands(given, outcome, bottom, top), variant=kind) for name, given, outcome, kind in found
    ]
    axes = Axes(bottom, top, _right(lines, bottom, batch), own.spec.max_context)
    return Survey(axes, tuple(_bordered(line, axes) for line in lines), tokens, batch)


def _lengths(limit: int | None, tokens: int) -> tuple[int, int]:
    """To twice the model's limit; always around the scenario's own length."""
    longest = max(2 * (limit or UNKNOWN_LIMIT), tokens)
    least = min(LEAST_LENGTH, tokens, (limit or UNKNOWN_LIMIT) // 16)
    return 2 ** floor(log2(max(1, least))), min(2 ** ceil(log2(longest)), LONGEST_CONTEXT)


def _right(lines: Sequence[Line], bottom: int, batch: int) -> int:
    """As far as any frontier goes, within reason, and to the scenario's own batch in any case."""
    most = max(int(most_sequences_at(line.bands, [bottom])[0]) for line in lines)
    wanted = max(min(most, MOST_TOP_BATCH), LEAST_TOP_BATCH, batch)
    return min(int(2 ** ceil(log2(wanted))), LARGEST_BATCH)


def _bands(values: Mapping[str, Any], outcome: Outcome, bottom: int, top: int) -> tuple[Band, ...]:
    if outcome.spec is None or outcome.fault or outcome.planned is None:
        return ()
    lengths = sorted({*np.geomspace(bottom, top, ROWS).astype(np.int64).tolist(), bottom, top})
    try:
        return bands_of(make_scenario(values), outcome.spec, outcome.accelerator, lengths)
    except (ScenarioError, PlacementError):
        return ()


def _bordered(line: Line, axes: Axes) -> Line:
    return Line(line.name, line.outcome, line.bands, frontier(line.bands, axes.right), line.variant)
