"""What llama.cpp prints at start-up about its buffers, in each build's words.

Wording by build: b5400 the "KV self size" lines, b5600 size with cells, layers and sequences, b5950 with streams; the
compute buffer is llama_context's line in b7600 and sched_reserve's in b8200.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from sizing.engines.llama_cpp.cache import Layout
from sizing.engines.llama_cpp.cells import Server
from sizing.engines.llama_cpp.layers import Rows
from sizing.engines.llama_cpp.rules import ROLLBACK, Rules
from sizing.engines.llama_cpp.weights import Held
from sizing.units import MIB

NAMES = {"fp16": "f16", "fp32": "f32"}
NEW_LOADER = date(2025, 1, 12)
NEW_CONTEXT = date(2025, 3, 13)
NEW_CACHE = date(2025, 5, 2)  # b5400 has it; the day is not known
WITHOUT_UNIFIED = date(2025, 8, 21)  # #15467
NEW_RESERVE = date(2026, 2, 1)  # between b7600 (2026-01-01) and b8200 (2026-03-09)
DEVICES = {"NVIDIA": "CUDA", "AMD": "ROCm", "Apple": "MTL", "Intel": "SYCL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A server with its load: `sequences` of `tokens` tokens. `key` and `value` are cache types."""

    server: Server
    layout: Layout
    key: str
    value: str
    copies: int
    layers: int
    tokens: int
    sequences: int

    @property
    def rules(self) -> Rules:
        return self.server.rules


def device_names(vendor: str | None, count: int) -> list[str]:
    stem = DEVICES.get(vendor or "NVIDIA", "GPU")
    return [f"{stem}{number}" for number in range(count)]


def model_lines(rules: Rules, names: list[str], held: Held) -> Iterator[str]:
    """Of the file, all is mapped from the first tensor to the last that stays on the host (llama-model-loader.cpp).

    Where matrices are split by rows, a line for each GPU has those of its layers, on whichever GPUs their rows are.
    """
    modern = rules.when >= NEW_LOADER and rules.wording != "fork"
    start, kind = ("load_tensors", " model") if modern else ("llm_load_tensors", "")
    split = [(f"{name}_Split", size) for name, size in zip(names, held.cut, strict=True)]
    own = zip(names, held.own, strict=True)
    for name, size in (("CPU_Mapped" if modern else "CPU", held.mapped), *split, *own):
        if size:
            yield f"{start}: {name:>12}{kind} buffer size = {size / MIB:8.2f} MiB"


def compute_lines(rules: Rules, names: list[str], devices: list[int], host: int | None) -> Iterator[str]:
    """`host`: None where its size is not known."""
    start = "sched_reserve" if rules.when >= NEW_RESERVE else _context(rules)
    for name, size in zip(names, devices, strict=True):
        yield f"{start}: {name:>10} compute buffer size = {size / MIB:8.2f} MiB"
    if host is not None:
        name = names[0].rstrip("0") + "_Host"
        yield f"{start}: {name:>10} compute buffer size = {host / MIB:8.2f} MiB"


def _context(rules: Rules) -> str:
    if rules.wording == "fork" or rules.when < NEW_LOADER:
        return "llama_new_context_with_model"
    return "llama_init_from_model" if rules.when < NEW_CONTEXT else "llama_context"


def _cache(rules: Rules) -> str:
    return _context(rules) if rules.wording == "fork" or rules.when < NEW_CACHE else "llama_kv_cache_unified"


def cache_lines(started: Started, names: list[str]) -> Iterator[str]:
    """Each cache with its buffers; builds without window caches have one cache."""
    rows = started.layout.whole.rows
    if started.rules.wording in ("self", "fork"):
        if rows:
            yield from _buffer_lines(started, names, set(rows))
            yield _self_line(started)
    else:
        for each in rows:
            yield from _buffer_lines(started, names, {each})
            yield _size_line(started, each)
    if started.layout.whole.state.conv + started.layout.whole.state.recurrent:
        yield _state_line(started)


def _buffer_lines(started: Started, names: list[str], caches: set[Rows]) -> Iterator[str]:
    """What the host and each device hold of some caches."""
    kinds = {(rows.law, rows.role) for rows in caches}
    start = _cache(started.rules) if started.rules.when >= NEW_CACHE else "llama_kv_cache_init"
    name = start.removesuffix("_unified") if started.rules.when >= WITHOUT_UNIFIED else start
    host = "CPU" if started.rules.layers_with_rows else names[0].rstrip("0") + "_Host"
    for device, held in ((host, started.layout.host), *zip(names, started.layout.devices, strict=True)):
        rows = [each for each in held.rows if (each.law, each.role) in kinds]
        total = sum(sum(sizes(started.server, each, started.tokens, started.sequences)) for each in rows)
        if total:
            yield f"{name}: {device:>10} KV buffer size = {total / MIB:8.2f} MiB"


def sizes(server: Server, rows: Rows, tokens: int, sequences: int) -> tuple[int, int]:
    """Bytes of keys and of values over all streams."""
    cells = int(server.all_cells(rows.law, tokens, sequences))
    return rows.key * cells, rows.value * cells


def _self_line(started: Started) -> str:
    each = [sizes(started.server, rows, started.tokens, started.sequences) for rows in started.layout.whole.rows]
    keys, values = sum(key for key, _ in each), sum(value for _, value in each)
    start = f"{_cache(started.rules)}: KV self size  = {(keys + values) / MIB:7.2f} MiB, "
    if started.rules.wording == "fork" and started.rules.latent in ("latent", "transposed"):
        beside = f"kv^T (f16): {values / MIB:7.2f} MiB" if values else "kv^T: not used"
        return f"{start}c^KV ({_name(started.key)}): {keys / MIB:7.2f} MiB, {beside}"
    return start + _pair(started, keys, values)


def _size_line(started: Started, rows: Rows) -> str:
    keys, values = sizes(started.server, rows, started.tokens, started.sequences)
    cells = int(started.server.cells(rows.law, started.tokens, started.sequences))
    slots = int(started.server.slots_for(started.sequences))
    unified = started.rules.when < WITHOUT_UNIFIED
    counted = f"{slots:2}" if started.rules.wording == "unified" else f"{slots:2}/{_streams(started, rows)}"
    return (
        f"llama_kv_cache{'_unified' if unified else ''}: size = {(keys + values) / MIB:7.2f} MiB "
        f"({cells:6} cells, {rows.layers:3} layers, {counted} seqs), {_pair(started, keys, values)}"
    )


def _streams(started: Started, rows: Rows) -> int:
    return int(started.server.streams_of(rows.law, started.sequences))


def _pair(started: Started, keys: int, values: int) -> str:
    return f"K ({_name(started.key)}): {keys / MIB:7.2f} MiB, V ({_name(started.value)}): {values / MIB:7.2f} MiB"


def _state_line(started: Started) -> str:
    slots = int(started.server.slots_for(started.sequences))
    conv, recurrent = (
        size * slots * started.copies
        for size in (started.layout.whole.state.conv, started.layout.whole.state.recurrent)
    )
    rolled = f" {started.copies - 1:2} rs_seq" if started.rules.when >= ROLLBACK else ""
    return (
        f"llama_memory_recurrent: size = {(conv + recurrent) / MIB:7.2f} MiB "
        f"({slots:6} cells, {started.layers:3} layers, {slots:2} seqs{rolled}), "
        f"R (f32): {conv / MIB:7.2f} MiB, S (f32): {recurrent / MIB:7.2f} MiB"
    )


def _name(name: str) -> str:
    return NAMES.get(name, name)
