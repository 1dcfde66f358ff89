"""Weight bytes against published checkpoint sizes and vLLM's model classes, where evidence lies beside."""

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

# Checkpoints that store the output head beside the embedding it is tied to.
COPIES = {"tiiuae/falcon-180B-chat": 65_024 * 14_848 * 2, "tiiuae/falcon-40b": 65_024 * 8_192 * 2}

# vLLM 0.33 model classes that hold something else than the checkpoint's parameters by the usual rules.
VLLM_OWN = {
    "glm4_moe": "router in float32, and routing biases",
    "glm4_moe_lite": "router in float32, and routing biases",
    "ernie4_5_moe": "router in float32",
    "sarvam_moe": "router in float32",
    "glm_moe_dsa": "indexer norms in float32, and routing biases",
    "gemma4": "vision tower whole on every rank",
    "phi3_v": "a second word embedding inside the vision tower",
    "jamba": "A in float32",
    "kimi_linear": "convolutions in float32, and routing biases",
    "llama4": "projector and patch embedding are divided",
    "qwen3_next": "A in float32",
    "qwen3_5": "A in float32",
    "qwen3_5_moe": "A in float32",
    "nemotron_h": "A in float32",
    "phi": "transformers backend: no bias of the output head",
    "persimmon": "transformers backend without a plan for tensor parallelism: every rank holds all",
}
# (data ranks with whole experts, or several stages): what the class repeats.
REPEATS = {
    "deepseek": "shared experts are whole on every rank under data parallelism",
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
    """The spec of a config whose weights are read without doubt."""
    spec = read_config(json.loads((SHARED / "configs" / file).read_text()))
    return None if any(doubt.touches_weights for doubt in spec.doubts) else spec


def test_published_checkpoint_sizes() -> None:
    """metadata.total_size of index files; the rest is causal masks and other buffers of old checkpoints."""
    files = {row["hf_id"]: row["file"] for row in evidence("configs/INDEX.jsonl")}
    rows = [r for r in evidence("weights_truth.jsonl") if r["hf_id"] in files and "total_size_bytes" in r]
    off, checked = {}, 0
    for row in rows:
        spec = spec_of(files[row["hf_id"]])
        if spec is None:
            continue
        missing = row["total_size_bytes"] - COPIES.get(row["hf_id"], 0) - sum(stored_bytes(spec).values())
        checked += 1
        if abs(missing) > 0.001 * row["total_size_bytes"]:
            off[row["hf_id"]] = missing
    assert checked >= 20
    assert off == {"togethercomputer/RedPajama-INCITE-7B-Base": 32 * (2_048 * 2_048 // 8 + 130)}


def test_vllm_parameters_on_every_rank() -> None:
    """Bytes of all parameters in vLLM 0.33's model classes, by stage, for 1 to 16 ranks: to the byte."""
    off, equal = [], 0
    for row, spec in planned(packed=False):
        if spec.model_type in VLLM_OWN or (_spread(row) and spec.model_type in REPEATS):
            continue
        wrong = differences(row, spec, "bf16")
        equal += not any(wrong)
        if any(wrong):
            off.append((row["id"], row["model"], spec.model_type, wrong))
    assert not off
    assert equal >= 320


# Packed checkpoints that vLLM 0.33 holds as they are stored.
HELD_AS_STORED = {
    "fp8-block": ("deepseek_v3", "qwen3", "qwen3_moe"),
    "fp8": ("granite",),
    "fp8-tensor": ("ministral3",),
    "nvfp4": ("glm_moe_dsa",),
    "mxfp4": ("gpt_oss",),
}


def test_packed_parameters_on_every_rank() -> None:
    """FP8, NVFP4 and MXFP4 checkpoints: vLLM adds cache scales and routing biases, 3 in a million at most."""
    checked = 0
    for row, spec in planned(packed=True):
        stored = spec.quantization
        if stored is None or spec.model_type not in HELD_AS_STORED.get(stored.method, ()) or _padded(row, spec):
            continue
        wrong = differences(row, spec, "auto")
        assert all(0 <= -each <= 3e-6 * held["parameters"] for each, held in zip(wrong, row["weights"], strict=True)), (
            row["id"]
        )
        checked += 1
    assert checked >= 45


def planned(packed: bool) -> list[tuple[dict[str, Any], ModelSpec]]:
    rows = evidence("receipts/vllm_033_plan.jsonl")
    kept = [r for r in rows if r["ok"] and r.get("weights") and bool(r["settings"]["quantization"]) == packed]
    read = [(row, spec_of(row["config"])) for row in kept if row["config_exact"]]
    return [(row, spec) for row, spec in read if spec is not None]


def differences(row: dict[str, Any], spec: ModelSpec, precision: str) -> list[int]:
    """Ours less vLLM's, for each stage."""
    names = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
    placement = Placement(**{name: row[name] for name in names})
    stages = rank_bytes(spec, precision, placement, include=WITHOUT_PREDICTION, vocab_multiple=VLLM_VOCABULARY)
    return [sum(stages[each["stage"]].values()) - each["parameters"] for each in row["weights"]]


def _spread(row: dict[str, Any]) -> bool:
    return bool(row["pipeline_parallel"] > 1 or row["data_parallel"] > 1)


def _padded(row: dict[str, Any], spec: ModelSpec) -> bool:
    """Shared experts whole on every rank, or slices of MXFP4 experts padded for the kernel."""
    if spec.model_type == "deepseek_v3":
        return bool(row["data_parallel"] > 1 and row["expert_parallel"])
    return spec.model_type == "gpt_oss" and row["tensor_parallel"] > 1
