"""The rules for unread memory totals, held to the errors that they state."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import hardware_catalog
from hardware_catalog import MemoryFigure, all_accelerators, get_accelerator
from hardware_catalog.memory_rules import (
    CUDA_GAP_ERROR,
    MIB,
    cuda_from_driver,
    driver_from_nominal,
    metal_working_set,
    unified_nvidia,
)

GIB = 2**30
DATA = Path(hardware_catalog.__file__).parent / "data" / "accelerators.json"
ROWS: list[dict[str, Any]] = json.loads(DATA.read_text())


def cuda_rule_errors() -> list[int]:
    """Rule minus reading, in bytes, of each NVIDIA card read both ways on Linux (an RTX 4080 on Windows)."""
    pairs = [
        (row["driver_reading"], row["cuda_reading"]["bytes"])
        for row in ROWS
        if row["vendor"] == "NVIDIA" and "driver_reading" in row and "cuda_reading" in row
        if row["id"] != "rtx-4080"
    ]
    return [cuda_from_driver(MemoryFigure(grade="exact", **driver)).bytes - cuda for driver, cuda in pairs]


def test_cuda_rule_keeps_its_stated_error() -> None:
    errors = [abs(error) for error in cuda_rule_errors()]
    assert len(errors) == 38
    assert max(errors) <= CUDA_GAP_ERROR
    assert median(errors) <= 54 * MIB


def test_cuda_rule_is_unbiased() -> None:
    assert abs(median(cuda_rule_errors())) < 16 * MIB


def test_cuda_rule_by_hand() -> None:
    driver = MemoryFigure(bytes=80 * GIB, grade="exact", source="nvidia-smi")
    figure = cuda_from_driver(driver)
    assert figure.bytes == 80 * GIB - (384 + 160) * MIB
    assert (figure.grade, figure.error_bytes) == ("assumed", CUDA_GAP_ERROR)


def test_a_rule_on_a_rule_states_no_error() -> None:
    driver = driver_from_nominal(80, "NVIDIA", "datacenter", "HBM3")
    assert cuda_from_driver(driver).error_bytes is None


@pytest.mark.parametrize(
    ("nominal", "vendor", "kind", "memory", "read_mib"),
    [
        (80, "NVIDIA", "datacenter", "HBM2e", 81920),  # A100
        (80, "NVIDIA", "datacenter", "HBM3", 81559),  # H100
        (141, "NVIDIA", "datacenter", "HBM3e", 143771),  # H200
        (48, "NVIDIA", "datacenter", "GDDR6", 46068),  # A40, L40S with ECC
        (24, "NVIDIA", "consumer", "GDDR6X", 24564),  # RTX 4090
        (32, "NVIDIA", "consumer", "GDDR7", 32607),  # RTX 5090
        (192, "AMD", "datacenter", "HBM3", 196592),  # MI300X
    ],
)
def test_driver_rule_reproduces_drivers(nominal: float, vendor: str, kind: str, memory: str, read_mib: int) -> None:
    figure = driver_from_nominal(nominal, vendor, kind, memory)
    assert figure.bytes == pytest.approx(read_mib * MIB, rel=0.0006)
    assert figure.grade == "assumed"


@pytest.mark.parametrize(
    ("ram_gb", "printed_megabytes"),
    [
        (8, 5726.63),
        (16, 11453.25),
        (48, 38654.71),
        (64, 51539.61),
        (192, 154618.82),
    ],  # Metal logs, decimal MB
)
def test_metal_rule_reproduces_the_logs_to_the_digit(ram_gb: float, printed_megabytes: float) -> None:
    figure = metal_working_set(ram_gb)
    assert f"{figure.bytes / 1e6:.2f}" == f"{printed_megabytes:.2f}"
    assert figure.grade == "calibrated"


def test_metal_rule_on_32_gb_prints_mebibytes() -> None:
    assert f"{metal_working_set(32).bytes / MIB:.2f}" == "21845.34"  # M1 Max log


@pytest.mark.parametrize("accelerator_id", ["dgx-spark-gb10", "jetson-thor-t5000", "jetson-orin-nano-super"])
def test_unified_rule_holds_for_the_readings(accelerator_id: str) -> None:
    accelerator = get_accelerator(accelerator_id)
    assert accelerator.memory_marketing_gb is not None and accelerator.memory_cuda_bytes is not None
    rule = unified_nvidia(accelerator.memory_marketing_gb)
    assert rule.error_bytes is not None
    assert abs(rule.bytes - accelerator.memory_cuda_bytes.bytes) <= rule.error_bytes


def test_grades_follow_readings() -> None:
    rows = {row["id"]: row for row in ROWS}
    for accelerator in all_accelerators():
        row = rows[accelerator.id]
        for key, figure in (
            ("driver_reading", accelerator.memory_driver_bytes),
            ("cuda_reading", accelerator.memory_cuda_bytes),
        ):
            if key in row:
                assert figure is not None and figure.grade == "exact" and figure.bytes == row[key]["bytes"]
            elif figure is not None:
                assert figure.grade in ("assumed", "calibrated") and figure.source.startswith("rule: ")
