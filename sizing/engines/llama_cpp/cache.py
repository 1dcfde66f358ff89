"""The caches of each device: cells × rows and states, kept as long as the model's spec is."""

from collections import OrderedDict
from dataclasses import dataclass

from model_catalog.spec import Attention, LatentAttention, Layer, ModelSpec
from sizing.cache import Tokens
from sizing.engines.llama_cpp.cells import FULL, Server
from sizing.engines.llama_cpp.compute import Compute
from sizing.engines.llama_cpp.layers import LayerRules, Rows, State, row, rows_of, state_of, summed, summed_states
from sizing.engines.llama_cpp.split import Share

MOST_KEPT = 512


@dataclass(frozen=True, slots=True)
class Caches:
    """The rows and the state of some layers."""

    rows: tuple[Rows, ...]
    state: State


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
        for each in self.caches.rows:
            total = total + (each.key + each.value) * self.server.all_cells(each.law, tokens, batch)
        return total

    def state(self, tokens: Tokens, batch: Tokens) -> Tokens:
        return self.caches.state.total * self.copies * self.server.slots_for(batch)

    def live(self, tokens: Tokens, batch: Tokens) -> Tokens:
        total: Tokens = self.caches.state.total * batch
        for each in self.caches.rows:
            total = total + (each.key + each.value) * self.server.used(each.law, tokens, batch)
        return total

    def need(self, tokens: Tokens, batch: Tokens) -> Tokens:
        reserved = self.kv(tokens, batch) + self.state(tokens, batch)
        return reserved if self.compute is None else reserved + self.compute.bytes(tokens, batch)


@dataclass(frozen=True, slots=True)
class Layout:
    """Caches of each device, those on the host, and all together."""

    devices: tuple[Caches, ...]
    host: Caches
    whole: Caches


Key = tuple[int, LayerRules, tuple[Share, ...], Share, int]
_KEPT: OrderedDict[Key, tuple[ModelSpec, Layout]] = OrderedDict()


def layout_of(spec: ModelSpec, by: LayerRules, devices: tuple[Share, ...], host: Share, drafts: int) -> Layout:
    """`drafts` layers of multi-token prediction are on the device with the output. Kept by the spec's identity."""
    key = (id(spec), by, devices, host, drafts)
    kept = _KEPT.get(key)
    if kept is not None and kept[0] is spec:
        _KEPT.move_to_end(key)
        return kept[1]
    layout = _layout(spec, by, devices, host, drafts)
    _KEPT[key] = (spec, layout)
    if len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return layout


def _layout(spec: ModelSpec, by: LayerRules, devices: tuple[Share, ...], host: Share, drafts: int) -> Layout:
    known = {id(run.layer): _caches(run.layer, by) for run in spec.layers}
    layers = [known[id(layer)] for layer in spec.each_layer()]
    draft = _draft(spec, drafts)

    def of(share: Share) -> Caches:
        held = layers[share.first : share.last] + ([draft] if share.output else [])
        return Caches(
            summed(row for caches in held for row in caches.rows), summed_states(caches.state for caches in held)
        )

    return Layout(tuple(of(share) for share in devices), of(host), of(Share(0, len(layers), True)))


def _caches(layer: Layer, by: LayerRules) -> Caches:
    rows = summed(row for mixer in layer.mixers for row in rows_of(mixer, by))
    return Caches(rows, summed_states(state_of(mixer) for mixer in layer.mixers))


def _draft(spec: ModelSpec, layers: int) -> Caches:
    """Prediction layers have full attention like the model's last, and an f16 cache of the whole context (l045)."""
    if not layers:
        return Caches((), State())
    full = [m for run in spec.layers for m in run.layer.mixers if isinstance(m, Attention | LatentAttention)]
    full = [m for m in full if not m.window] or full
    if not full:
        return Caches((), State())
    last = full[-1]
    if isinstance(last, LatentAttention):
        rows = Rows(FULL, row("fp16", last.latent_dim + last.rope_dim), 0, 1, "draft")
    else:
        rows = Rows(
            FULL, row("fp16", last.kv_heads * last.head_dim), row("fp16", last.kv_heads * last.value_dim), 1, "draft"
        )
    return Caches(summed([rows] * layers), State())
