"""Public start-up logs of llama.cpp and its fork, and what the engine makes of the settings that they state.

A line of receipts.jsonl: `link`, the `model` (a catalog id, or `layers` as [count, heads, KV heads, head size, window]
where the catalog has none), the `scenario`, and what was `printed` in MiB: `main`, `window` and `draft` caches, the
`state`, the `weights` on the device and the `host`, the `compute` buffer, or the `total` of all caches.
"""

import json
from pathlib import Path
from typing import Any

from model_catalog.lookup import find_entry
from model_catalog.spec import Attention, FeedForward, Layer, LayerRun, ModelSpec
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.llama_cpp.printed import sizes
from sizing.engines.llama_cpp.resolving import Resolved, resolved_of
from sizing.engines.plan import EnginePlan
from sizing.scenario import Scenario, make_scenario

MIB = 2**20
RECEIPTS = [json.loads(line) for line in (Path(__file__).parent / "receipts.jsonl").read_text().splitlines()]


def spec_of(*runs: tuple[int, int, int, int, int | None], **sizes: int) -> ModelSpec:
    """A model without weights from its dimensions."""
    forward = FeedForward(intermediate=sizes.get("feed_forward", 64))
    layers = [
        LayerRun(count, Layer(mixers=(_attention(heads, kv_heads, head_dim, window),), feed_forward=forward))
        for count, heads, kv_heads, head_dim, window in runs
    ]
    return ModelSpec(
        model_type="llama",
        layers=tuple(layers),
        hidden_size=sizes.get("hidden", 64),
        vocab_size=sizes.get("vocab", 64),
        max_context=1_048_576,
        dtype="bf16",
        tied_embeddings=False,
        tensors=(),
    )


def _attention(heads: int, kv_heads: int, head_dim: int, window: int | None) -> Attention:
    return Attention(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=head_dim, window=window)


def model_of(receipt: dict[str, Any]) -> ModelSpec:
    model = receipt["model"]
    if isinstance(model, str):
        return find_entry(model).spec
    return spec_of(*model["layers"], **{name: size for name, size in model.items() if name != "layers"})


def scenario_of(receipt: dict[str, Any]) -> Scenario:
    return make_scenario({"model": "test", "engine": "llama.cpp"} | receipt["scenario"])


def planned(receipt: dict[str, Any]) -> EnginePlan:
    return plan(scenario_of(receipt), model_of(receipt), None)


def predicted(receipt: dict[str, Any]) -> dict[str, dict[str, float]]:
    """The caches that would be printed, in MiB."""
    resolved = resolved_of(scenario_of(receipt), model_of(receipt))
    tokens, sequences = resolved.tokens, resolved.sequences
    found = {}
    for rows in resolved.layout.whole.rows:
        name = "window" if rows.law.kind == "window" and rows.role == "main" else rows.role
        key, value = (size / MIB for size in sizes(resolved.server, rows, tokens, sequences))
        cells = float(resolved.server.cells(rows.law, tokens, sequences))
        found[name] = {"size": key + value, "key": key, "value": value, "cells": cells, "layers": rows.layers}
    state = _state(resolved)
    return found | {"state": state, "total": {"size": sum(each["size"] for each in found.values()) + state["size"]}}


def _state(resolved: Resolved) -> dict[str, float]:
    state, copies = resolved.layout.whole.state, resolved.copies * int(resolved.server.slots_for(resolved.sequences))
    conv, recurrent = state.conv * copies / MIB, state.recurrent * copies / MIB
    return {"size": conv + recurrent, "conv": conv, "recurrent": recurrent}
