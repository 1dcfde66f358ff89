"""Weight bytes against published checkpoint sizes and vLLM's own model classes, where the evidence lies beside."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from model_catalog.importers.read import read_config
from model_catalog.spec import ModelSpec
from sizing.placement import Placement
from sizing.weights.ranks import WITHOUT_PREDICTION, rank_bytes
from sizing.weights.stored import stored_bytes

SHARED = Path(__file__).resolve().parents[4] / "shared"
VLLM_VOCABULARY = 64

# Checkpoints that hold more than parameters.
LARGER = {
    "tiiuae/falcon-180B-chat": "the output head is stored beside the embedding it is tied to: 65,024 × 14,848 × 2",
    "tiiuae/falcon-40b": "the output head is stored beside the embedding it is tied to: 65,024 × 8,192 × 2",
    "togethercomputer/RedPajama-INCITE-7B-Base": "the causal masks of 32 layers, one bit for 2,048 × 2,048 each",
}
COPIES = {"tiiuae/falcon-180B-chat": 65_024 * 14_848 * 2, "tiiuae/falcon-40b": 65_024 * 8_192 * 2}

# vLLM 0.33 model classes that hold something else than the parameters of the checkpoint, shared out by the usual rules.
VLLM_OWN = {
    "glm4_moe": "router in float32, and routing biases",
    "glm4_moe_lite": "router in float32, and routing biases",
    "ernie4_5_moe": "router in float32",
    "sarvam_moe": "router in float32",
    "glm_moe_dsa": "indexer norms in float32, and routing biases",
    "jamba": "A in float32",
    "phi": "transformers backend: no bias of the output head",
    "persimmon": "transformers backend without a plan for tensor parallelism: every rank holds all",
}
# (data ranks with whole experts, or several stages): what the class repeats.
REPEATS = {
    "deepseek": "shared experts are whole on every rank under data parallelism",
    "qwen3_next": "shared experts are whole on every rank under data parallelism",
    "qwen3_vl_moe": "embedding and output head on every stage",
    "mixtral": "embedding and output head on every stage",
    "gemma2": "embedding and final norm on every stage",
    "granitemoe": "final norm on every stage",
    "granitemoehybrid": "embedding and final norm on every stage",
}


def evidence(name: str) -> list[dict[str, Any]]:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} does not lie beside the repository")
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


@cache
def spec_of(file: str) -> ModelSpec | None:
    """The spec of a config whose weights are read without doubt and are not packed."""
    spec = read_config(json.loads((SHARED / "configs" / file).read_text()))
    return None if spec.quantization or any(doubt.touches_weights for doubt in spec.doubts) else spec


def test_published_checkpoint_sizes() -> None:
    """metadata.total_size of index files; the rest is causal masks and other buffers of old checkpoints."""
    files = {row["hf_id"]: row["file"] for row in evidence("configs/INDEX.jsonl")}
    rows = [r for r in evidence("weights_truth.jsonl") if r["hf_id"] in files and "total_size_bytes" in r]
    off, checked = {}, 0
    for row in rows:
        spec = spec_of(files[row["hf_id"]])
        if spec is None or "/Kimi-K2.6" in row["hf_id"]:
            continue
        missing = row["total_size_bytes"] - COPIES.get(row["hf_id"], 0) - sum(stored_bytes(spec).values())
        checked += 1
        if abs(missing) > 0.001 * row["total_size_bytes"]:
            off[row["hf_id"]] = missing
    assert checked >= 20
    assert off == {"togethercomputer/RedPajama-INCITE-7B-Base": 32 * (2_048 * 2_048 // 8 + 130)}


def test_vllm_parameters_on_every_rank() -> None:
    """Bytes of all parameters in vLLM 0.33's model classes, by stage, for 1 to 16 ranks: to the byte."""
    equal, off = 0, []
    for row in evidence("receipts/vllm_033_plan.jsonl"):
        if not row["ok"] or not row.get("weights") or row["settings"]["quantization"]:
            continue
        spec = spec_of(row["config"])
        if spec is None or not row["config_exact"] or _explained(spec, row):
            continue
        names = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
        stages = rank_bytes(
            spec,
            "bf16",
            Placement(**{name: row[name] for name in names}),
            include=WITHOUT_PREDICTION,
            vocab_multiple=VLLM_VOCABULARY,
        )
        same = all(sum(stages[each["stage"]].values()) == each["parameters"] for each in row["weights"])
        equal += same
        if not same:
            off.append((row["id"], row["model"], spec.model_type))
    assert not off
    assert equal >= 400


def _explained(spec: ModelSpec, row: dict[str, Any]) -> bool:
    spread = row["pipeline_parallel"] > 1 or row["data_parallel"] > 1
    return spec.model_type in VLLM_OWN or (spread and spec.model_type in REPEATS)
