"""The catalog against the evidence it was carried from, where that lies beside the repository."""

import json
from pathlib import Path
from typing import Any

import pytest

from hardware_catalog import all_accelerators, get_accelerator
from hardware_catalog.prices import price_per_hour
from hardware_catalog.schema import Dtype

SHARED = Path(__file__).resolve().parents[3] / "shared"

# Deliberate differences: (id, evidence field) -> why.
DIFFERENT = {
    ("mi250x", "memory_marketing_gb"): "one of two devices of a card",
    ("mi250x", "memory_bandwidth_gbps"): "one of two devices of a card",
    ("mi250x", "fp16_tflops_dense"): "one of two devices of a card",
    ("mi250x", "bf16_tflops_dense"): "one of two devices of a card",
    ("mi250x", "int8_tops_dense"): "one of two devices of a card",
    ("mi250x", "tdp_w"): "one of two devices of a card",
    ("jetson-thor-t5000", "tdp_w"): "the power at which its FLOP rate holds, not the lowest mode",
}
RATES: dict[str, Dtype] = {
    "fp32_tflops": "fp32",
    "fp16_tflops_dense": "fp16",
    "bf16_tflops_dense": "bf16",
    "fp8_tflops_dense": "fp8",
    "int8_tops_dense": "int8",
    "fp4_tflops_dense": "fp4",
}


def evidence(name: str) -> list[dict[str, Any]]:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} does not lie beside the repository")
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def test_same_ids() -> None:
    assert {row["id"] for row in evidence("hardware.jsonl")} == {a.id for a in all_accelerators()}


def test_same_figures() -> None:
    differences = []
    for row in evidence("hardware.jsonl"):
        accelerator = get_accelerator(row["id"])
        ours = {
            "memory_marketing_gb": accelerator.memory_marketing_gb,
            "memory_bandwidth_gbps": (accelerator.memory_bandwidth or 0) / 1e9 or None,
            "interconnect_gbps_per_direction": (accelerator.interconnect_bandwidth or 0) / 1e9 or None,
            "tdp_w": accelerator.tdp_w,
            "pcie_gen": accelerator.pcie_gen,
            "release_year": accelerator.release_year,
        } | {key: accelerator.flops[t] / 1e12 for key, t in RATES.items() if t in accelerator.flops}
        differences += [
            (row["id"], field)
            for field, value in ours.items()
            if row.get(field) is not None and value != pytest.approx(row[field])
        ]
    assert set(differences) == set(DIFFERENT)


def test_no_figure_was_lost() -> None:
    for row in evidence("hardware.jsonl"):
        accelerator = get_accelerator(row["id"])
        missing = [key for key, dtype in RATES.items() if row.get(key) is not None and dtype not in accelerator.flops]
        assert missing == [], row["id"]
        if row["memory_bandwidth_gbps"] is not None:
            assert accelerator.memory_bandwidth is not None


def test_driver_totals() -> None:
    for row in evidence("hardware.jsonl"):
        reported = row["memory_total_bytes_reported"]
        figure = get_accelerator(row["id"]).memory_driver_bytes
        if reported is not None and figure is not None and figure.grade == "exact":
            assert figure.bytes == reported, row["id"]


def test_price_summaries() -> None:
    for row in evidence("prices.jsonl"):
        if row["provider"] != "_summary_":
            continue
        price = price_per_hour(row["id"])
        assert price is not None
        assert price.median_usd == pytest.approx(row["usd_per_gpu_hour"], abs=0.0001), row["id"]
        assert (price.providers, price.min_usd, price.max_usd) == (
            row["providers"],
            row["min_usd"],
            row["max_usd"],
        )
