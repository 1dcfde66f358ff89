"""The caches of each device: cells × rows and states, kept as long as the model's spec is."""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from model_catalog.spec import Attention, LatentAttention, Layer, ModelSpec
from sizing.arrays import Tokens
from sizing.cache import CacheCost, Growth
from sizing.engines.llama_cpp.cells import FULL, Law, Server
from sizing.engines.llama_cpp.compute import Compute, Widths, widths_of
from sizing.engines.llama_cpp.drafts import Drafting
from sizing.engines.llama_cpp.layers import (
    LayerRules,
    Rows,
    State,
    row,
    rows_of,
    state_of,
    summed,
    summed_states,
    widest_value,
)
from sizing.engines.llama_cpp.split import Share
from sizing.engines.plan import Contents

MOST_KEPT = 512


@dataclass(frozen=True, slots=True)
class Caches:
    """The rows and the state of some layers. `laws` are the bytes of a cell by law, for arithmetic."""

    rows: tuple[Rows, ...]
    state: State
    laws: tuple[tuple[Law, int], ...]


def caches_of(rows: Iterable[Rows], states: Iterable[State]) -> Caches:
    held, laws = summed(rows), Counter[Law]()
    for each in held:
        laws[each.law] += each.key + each.value
    return Caches(held, summed_states(states), tuple(laws.items()))


@dataclass(frozen=True, slots=True)
class DeviceCache:
    """One device. All is set aside when the context is created, for `slots` sequences at least.

    `copies`: of each state, one and those for rollback. `compute` grows with the context and is part of what a load
    needs beside its cache; None where the budget is for the cache alone.
    """

    caches: Caches
    server: Server
    copies: int
    compute: Compute | None

    def kv(self, tokens: Tokens, batch: Tokens) -> Tokens:
        total: Tokens = 0 * (tokens * batch)
        for law, size in self.caches.laws:
            total = total + size * self.server.all_cells(law, tokens, batch)
        return total

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.caches.state.total * self.copies * self.server.slots_for(batch)

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens:
        total: Tokens = self.caches.state.total * batch
        for law, size in self.caches.laws:
            total = total + size * self.server.used(law, tokens, batch)
        return total

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens:
        reserved = self.kv(tokens, batch) + self.state(tokens, batch)
        return reserved if self.compute is None else reserved + self.compute.bytes(tokens, batch)

    def contents(self, tokens: int, batch: int) -> Contents:
        """Slots without a sequence, copies of states for rollback, and window cells beyond the windows."""
        state, slots = self.caches.state.total, int(self.server.slots_for(batch))
        excess = Counter({"unused slots": state * (slots - batch), "state copies": state * slots * (self.copies - 1)})
        growths = []
        for law, size in self.caches.laws:
            growth = self._growth(law, size)
            growths.append(growth)
            cells = int(self.server.all_cells(law, tokens, batch))
            unused = cells - int(self.server.cells(law, tokens, batch)) * min(
                batch, int(self.server.streams_of(law, batch))
            )
            excess["unused slots"] += size * unused
            if growth.limit is not None:
                excess["window slack"] += size * (cells - unused) - int(growth.at(tokens)) * batch
        return Contents(CacheCost(tuple(growths), state=state), excess=excess)

    def _growth(self, law: Law, size: int) -> Growth:
        if law.kind == "compressed":
            return Growth(size, every=law.size)
        bounded = law.kind in ("window", "raw") and not self.server.swa_full
        return Growth(size, law.size if bounded else None)


@dataclass(frozen=True, slots=True)
class Layout:
    """Caches of each device, those on the host, and all together; and what the compute buffers go by."""

    devices: tuple[Caches, ...]
    host: Caches
    whole: Caches
    widths: Widths


Key = tuple[int, LayerRules, tuple[Share, ...], Share, int, ModelSpec | None, bool]
_KEPT: OrderedDict[Key, tuple[ModelSpec, Layout]] = OrderedDict()


def layout_of(
    spec: ModelSpec,
    by: LayerRules,
    devices: tuple[Share, ...],
    host: Share,
    drafting: Drafting,
    offloaded: bool = True,
) -> Layout:
    """What drafts is on the device with the output. Kept by the spec's identity.

    `offloaded`: caches are where their layers are; else all are on the host (--no-kv-offload).
    """
    key = (id(spec), by, devices, host, drafting.layers, drafting.draft, offloaded)
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec:
        _KEPT.move_to_end(key)
        return kept[1]
    layout = _layout(spec, by, devices, host, drafting, offloaded)
    _KEPT[key] = (spec, layout)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return layout


def _layout(
    spec: ModelSpec, by: LayerRules, devices: tuple[Share, ...], host: Share, drafting: Drafting, offloaded: bool
) -> Layout:
    known = {id(run.layer): _caches(run.layer, by) for run in spec.layers}
    layers = [known[id(layer)] for layer in spec.each_layer()]
    draft = _separate(drafting.draft, by) if drafting.draft else _draft(spec, drafting.layers)

    def of(share: Share) -> Caches:
        held = layers[share.first : share.last] + ([draft] if share.output else [])
        return caches_of((row for caches in held for row in caches.rows), (caches.state for caches in held))

    whole = of(Share(0, len(layers), True))
    windows = {rows.law for rows in whole.rows if rows.law.kind in ("window", "raw")}
    widths = widths_of(spec, tuple(sorted(windows, key=lambda law: law.size)))
    if not offloaded:
        return Layout((caches_of((), ()),) * len(devices), whole, whole, widths)
    return Layout(tuple(of(share) for share in devices), of(host), whole, widths)


def _caches(layer: Layer, by: LayerRules) -> Caches:
    rows = (row for mixer in layer.mixers for row in rows_of(mixer, by))
    return caches_of(rows, (state_of(mixer) for mixer in layer.mixers))


def _separate(draft: ModelSpec, by: LayerRules) -> Caches:
    """A draft model's own layers, in f16."""
    plain = replace(by, key="fp16", value="fp16", widest_value=widest_value(draft) if by.widest_value else 0)
    mixers = [mixer for layer in draft.each_layer() for mixer in layer.mixers]
    rows = (replace(each, role="draft") for mixer in mixers for each in rows_of(mixer, plain))
    return caches_of(rows, (state_of(mixer) for mixer in mixers))


def _draft(spec: ModelSpec, layers: int) -> Caches:
    """Prediction layers have full attention like the model's last, and an f16 cache of the whole context (l045)."""
    if not layers:
        return caches_of((), ())
    full = [m for m in spec.mixers() if isinstance(m, Attention | LatentAttention)]
    full = [m for m in full if not m.window] or full
    if not full:
        return caches_of((), ())
    last = full[-1]
    if isinstance(last, LatentAttention):
        rows = Rows(FULL, row("fp16", last.latent_dim + last.rope_dim), 0, 1, "draft")
    else:
        rows = Rows(
            FULL, row("fp16", last.kv_heads * last.head_dim), row("fp16", last.kv_heads * last.value_dim), 1, "draft"
        )
    return caches_of([rows] * layers, ())
