"""What one request keeps by architecture: full attention, windows, a hybrid, latents, and this model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from math import log10
from typing import Any

import numpy as np

from components import choices, inks
from components.format import BYTES_IN, Unit, amount, short_tokens
from components.tradeoff_axes import above, below, log_axis, note
from components.tradeoff_map import steps
from model_catalog.lookup import find_entry
from model_catalog.spec import (
    Attention,
    CompressedAttention,
    LatentAttention,
    Mixer,
    ModelSpec,
    Recurrent,
)
from sizing.cache import CacheCost
from sizing.costs import model_cost, stage_costs
from sizing.engines import minimum
from sizing.placement import Placement, PlacementError, check_placement
from sizing.scenario import Scenario

HEIGHT = 330
CONFIG = {"displayModeBar": False}
FIRST, LAST = 128, 131_072
FULL, WINDOWED, HYBRID, LATENT = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3.5-27B",
    "deepseek-ai/DeepSeek-V3",
)
SHOWN = (FULL, WINDOWED, HYBRID, LATENT, "openai/gpt-oss-120b")
SPLIT = 16  # GPUs that share out the eight heads of FULL
DASH = {"full": "solid", "windows": "dash", "hybrid": "dot", "latent (MLA)": "dashdot", "compressed": "longdash"}
LONGEST_LABEL = 27  # letters that the right margin holds
NEAREST = 0.052  # of the figure's height between two names


@dataclass(frozen=True)
class Curve:
    """Bytes of one request at each length, all GPUs together."""

    name: str
    kind: str
    sizes: tuple[int, ...]
    own: bool = False


def kind_of(spec: ModelSpec) -> str:
    """The kind that decides how the curve bends."""
    mixers: list[Mixer] = list(spec.mixers())
    if any(isinstance(mixer, Recurrent) for mixer in mixers):
        return "hybrid" if not all(isinstance(mixer, Recurrent) for mixer in mixers) else "recurrent"
    if any(isinstance(mixer, CompressedAttention) for mixer in mixers):
        return "compressed"
    if any(isinstance(mixer, LatentAttention) for mixer in mixers):
        return "latent (MLA)"
    limited = any(isinstance(mixer, Attention) and (mixer.window or mixer.chunk) for mixer in mixers)
    return "windows" if limited else "full"


def lengths() -> list[int]:
    return steps(FIRST, LAST, 4)


def curves(spec: ModelSpec, name: str, ranks: int) -> list[Curve]:
    """The well-known models, the first also split over SPLIT GPUs; the reader's own, drawn last, and what its `ranks`
    tensor-parallel GPUs keep together where that is more than one copy."""
    own = Curve(_short(name), kind_of(spec), _sizes(_cost(spec)), own=True)
    others = [curve for curve in known() if curve.name not in (own.name, f"{own.name}, TP {ranks}")]
    together = split_sizes(spec, ranks)
    if together is not None and together != own.sizes:
        others.append(Curve(f"{own.name}, TP {ranks}", own.kind, together))
    return [*others, own]


@cache
def known() -> tuple[Curve, ...]:
    """In each model's own cache format, nothing rounded to pages."""
    found = [
        Curve(_short(choices.name_of(id_)), kind_of(find_entry(id_).spec), _sizes(_cost(find_entry(id_).spec)))
        for id_ in SHOWN
    ]
    copies = Curve(f"{found[0].name}, TP {SPLIT}", found[0].kind, split_sizes(find_entry(FULL).spec, SPLIT) or ())
    return (*found, copies)


def _short(name: str) -> str:
    return name.removesuffix("-Instruct").removesuffix("-it")


def _cost(spec: ModelSpec) -> CacheCost:
    return model_cost(spec, minimum.mixer_cost, minimum.RULES.formats(Scenario(model="-"), spec))


def _sizes(cost: CacheCost) -> tuple[int, ...]:
    return tuple(np.asarray(cost.bytes(np.array(lengths(), dtype=np.int64))).tolist())


def split_sizes(spec: ModelSpec, ranks: int) -> tuple[int, ...] | None:
    """What `ranks` tensor-parallel GPUs keep together: heads that cannot be divided are kept by several."""
    placement = Placement(tensor_parallel=ranks)
    try:
        check_placement(spec, placement)
    except PlacementError:
        return None
    formats = minimum.RULES.formats(Scenario(model="-"), spec)
    (cost,) = stage_costs(spec, minimum.mixer_cost, formats, placement)
    return tuple(size * ranks for size in _sizes(cost))


def architectures(shown: Sequence[Curve], unit: Unit) -> dict[str, Any]:
    """The figure as a plain dict, names at the right end of the curves."""
    top = max(curve.sizes[-1] for curve in shown) * 1.6 / BYTES_IN[unit]
    least = max(min(curve.sizes[0] for curve in shown) / 1.6 / BYTES_IN[unit], 1e-4)
    bottom = min(least, top / 100)
    return {
        "data": [_trace(curve, unit) for curve in shown],
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 32, "b": 40, "l": 38, "r": 168},
            "showlegend": False,
            "hovermode": "closest",
            "hoverlabel": {"font": {"size": 12}},
            "xaxis": log_axis(FIRST, LAST, most=6) | {"hoverformat": ",d"},
            "yaxis": _amounts(bottom, top),
            "annotations": [
                above(f"{unit} one request keeps, no engine rounding"),
                below("tokens"),
                *_names(shown, bottom, top, unit),
            ],
        },
    }


def _amounts(bottom: float, top: float) -> dict[str, Any]:
    return {
        "type": "log",
        "range": [log10(bottom), log10(top)],
        "dtick": 1,
        "tickformat": "~g",
        "tickfont": {"size": 11},
        "gridcolor": inks.faded(inks.NEUTRAL, 0.22),
        "zeroline": False,
        "fixedrange": True,
        "title": None,
    }


def _trace(curve: Curve, unit: Unit) -> dict[str, Any]:
    ink, width = (inks.KV, 3) if curve.own else (inks.INK, 1.5)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": lengths(),
        "y": [float(f"{size / BYTES_IN[unit]:.4g}") if size else None for size in curve.sizes],
        "line": {"color": ink, "width": width, "dash": DASH.get(curve.kind, "longdashdot")},
        "hovertemplate": f"%{{x:,d}} tokens: %{{y:,.3r}} {unit}<extra>{curve.name}</extra>",
    }


def _names(shown: Sequence[Curve], bottom: float, top: float, unit: Unit) -> list[dict[str, Any]]:
    """Sorted by where the curves end, and pushed apart."""
    ordered = sorted((curve for curve in shown if curve.sizes[-1]), key=lambda curve: -curve.sizes[-1])
    span = log10(top / bottom)
    wanted = [log10(max(curve.sizes[-1] / BYTES_IN[unit], bottom) / bottom) / span for curve in ordered]
    return [
        note(
            _label(curve),
            1,
            height,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="middle",
            xshift=6,
            font={"size": 11, "color": inks.INK},
        )
        for curve, height in zip(ordered, apart(wanted), strict=True)
    ]


def _label(curve: Curve) -> str:
    """Name and kind, as far as the margin holds them."""
    kind = f" · {curve.kind}"
    name = curve.name if len(curve.name) <= LONGEST_LABEL else f"{curve.name[: LONGEST_LABEL - 1]}…"
    shown = f"<b>{escape(name)}</b>" if curve.own else escape(name)
    return shown + kind if len(curve.name + kind) <= LONGEST_LABEL else shown


def apart(heights: Sequence[float]) -> list[float]:
    """Falling heights moved as little as needed to be NEAREST apart, none above 1."""
    placed: list[float] = []
    for height in heights:
        placed.append(min(height, placed[-1] - NEAREST if placed else 1.0))
    lift = sum(wanted - got for wanted, got in zip(heights, placed, strict=True)) / max(1, len(placed))
    lift = min(lift, 1.0 - placed[0] if placed else 0)
    return [height + lift for height in placed]


def sentences(shown: Sequence[Curve], unit: Unit) -> str:
    """What the figure shows, with the numbers of the models drawn."""
    return " ".join([_bend(), _floor(unit), *_copies(shown)])


def _bend() -> str:
    spec = find_entry(WINDOWED).spec
    mixers = [mixer for layer in spec.each_layer() for mixer in layer.mixers]
    windows = [mixer.window for mixer in mixers if isinstance(mixer, Attention) and mixer.window]
    name = _short(choices.name_of(WINDOWED))
    return f"{name} bends at {windows[0]:,} tokens, where {len(windows)} of its {spec.num_layers} layers stop growing."


def _floor(unit: Unit) -> str:
    state = amount(_cost(find_entry(HYBRID).spec).state, unit)
    name = choices.name_of(HYBRID)
    return f"{name} starts at {state} of state and stays flat until its few attention layers outgrow it."


def _copies(shown: Sequence[Curve]) -> Iterator[str]:
    """How often GPUs that cannot divide a cache among them hold it."""
    once, split = known()[0], known()[-1]
    more = split.sizes[-1] / once.sizes[-1]
    yield f"{once.name} has eight KV heads: {SPLIT} GPUs keep each {more:g} times."
    own = shown[-1]
    for curve in shown:
        if curve.name.startswith(f"{own.name}, TP ") and curve.name != split.name:
            split_by, kept = curve.name.removeprefix(f"{own.name}, "), curve.sizes[-1] / own.sizes[-1]
            yield f"With {split_by}, {own.name} is kept {kept:.3g} times."


def alternative_text(shown: Sequence[Curve], unit: Unit) -> str:
    ends = "; ".join(
        f"{curve.name} ({curve.kind}{', this model' if curve.own else ''}) {amount(curve.sizes[0], unit)} to "
        f"{amount(curve.sizes[-1], unit)}"
        for curve in shown
    )
    return f"What one request keeps from {FIRST} to {short_tokens(LAST)} tokens, by architecture: {ends}."
