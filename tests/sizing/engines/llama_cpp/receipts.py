"""llama.cpp's receipts (tests/receipts/llama_cpp.json) planned, and the caches of a model in MiB."""

from pathlib import Path
from typing import Any

from model_catalog.lookup import find_entry
from model_catalog.spec import Attention, FeedForward, Layer, LayerRun, ModelSpec
from sizing.answer import find_spec
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.llama_cpp.printed import sizes
from sizing.engines.llama_cpp.resolving import Resolved, resolved_of
from sizing.engines.plan import EnginePlan
from sizing.receipts.receipt import read_receipts
from sizing.receipts.shapes import read_shapes
from sizing.scenario import make_scenario

FOLDER = Path(__file__).parents[3] / "receipts"
RECEIPTS = {receipt.id: receipt for receipt in read_receipts(FOLDER) if receipt.engine == "llama.cpp"}
SHAPES = read_shapes(FOLDER)
MIB = 2**20


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


def planned(receipt_id: str) -> EnginePlan:
    receipt = RECEIPTS[receipt_id]
    spec = SHAPES[receipt.shape] if receipt.shape else find_spec(receipt.model or "")
    return plan(make_scenario(receipt.values), spec, None)


def predicted(model: str, **settings: Any) -> dict[str, dict[str, float]]:
    """The caches that would be printed, in MiB."""
    scenario = make_scenario({"model": model, "engine": "llama.cpp"} | settings)
    resolved = resolved_of(scenario, find_entry(model).spec)
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
