"""The layer strip: one cell a layer, its kind by height and colour. Nothing in it depends on the request's length."""

from typing import Any

from components import inks
from components.choices import cache_rules
from components.format import Unit, scaled
from components.layer_kinds import count_by_name, first_kv, kind_of, layer_name
from components.legend import Item
from model_catalog.spec import Layer, ModelSpec
from sizing.cache import CacheCost, total
from sizing.engines.plan import EnginePlan

HEIGHT = 32
EMPTY_HEIGHT = 0.1
LAST = [(True, 0.0)]


def layer_strip(spec: ModelSpec) -> dict[str, Any]:
    """The figure as a plain dict; layers with attention and state side by side are stacked."""
    heights = _heights(spec)
    traces = [
        {
            "type": "bar",
            "x": list(cells),
            "y": list(cells.values()),
            "width": 0.84,
            "marker": {"color": colour, "line": {"width": 0}},
            "hoverinfo": "skip",
        }
        for colour, cells in heights.items()
    ]
    return {
        "data": traces,
        "layout": {
            "height": HEIGHT,
            "margin": {"t": 0, "b": 0, "l": 0, "r": 0},
            "barmode": "stack",
            "barcornerradius": 2,
            "showlegend": False,
            "xaxis": {"visible": False, "fixedrange": True, "range": [-0.5, spec.num_layers - 0.5]},
            "yaxis": {"visible": False, "fixedrange": True, "range": [0, _tallest(heights)]},
        },
    }


def _heights(spec: ModelSpec) -> dict[str, dict[int, float]]:
    """Colour → layer → height."""
    heights: dict[str, dict[int, float]] = {}
    start = 0
    for run in spec.layers:
        for colour, height in _cell(run.layer).items():
            heights.setdefault(colour, {}).update(dict.fromkeys(range(start, start + run.count), height))
        start += run.count
    return heights


def _cell(layer: Layer) -> dict[str, float]:
    """Colour → height of one layer. Two mixers of one colour show the taller."""
    cell: dict[str, float] = {}
    for kind in (kind_of(mixer) for mixer in layer.mixers):
        cell[kind.colour] = max(kind.height, cell.get(kind.colour, 0))
    return cell or {inks.NEUTRAL: EMPTY_HEIGHT}


def _tallest(heights: dict[str, dict[int, float]]) -> float:
    sums: dict[int, float] = {}
    for cells in heights.values():
        for layer, height in cells.items():
            sums[layer] = sums.get(layer, 0) + height
    return max([1.0, *sums.values()])


def strip_legend(planned: EnginePlan, unit: Unit) -> list[Item]:
    """How many layers of each kind, and what each keeps of one request of the scenario's length."""
    tokens = planned.scenario.context_length or 1
    counts = count_by_name(planned.spec)
    items = {}
    for run in sorted(planned.spec.layers, key=lambda run: [first_kv(mixer) for mixer in run.layer.mixers] or LAST):
        name = layer_name(run.layer)
        if name not in items:
            kept = int(_cost(run.layer, planned).bytes(tokens))
            items[name] = _item(run.layer, f"{counts[name]} × {name}", f"{scaled(kept, unit)} each" if kept else "")
    return list(items.values())


def _cost(layer: Layer, planned: EnginePlan) -> CacheCost:
    rules = cache_rules(planned.scenario.engine)
    formats = rules.formats(planned.scenario, planned.spec)
    mixer_cost = rules.mixer_cost_of(planned.spec)
    return total(mixer_cost(mixer, formats) for mixer in layer.mixers)


def _item(layer: Layer, name: str, value: str) -> Item:
    cell = _cell(layer)
    colour, height = max(cell.items(), key=lambda pair: pair[1])
    return Item(colour, name, value, height)


def alternative_text(spec: ModelSpec) -> str:
    listed = ", ".join(f"{count} × {name}" for name, count in count_by_name(spec).items())
    return f"{spec.num_layers} layers from first to last: {listed}."
