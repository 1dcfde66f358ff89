"""The accelerator catalog against readings printed by engines, drivers and CUDA, and its own promises."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from hardware_catalog import (
    Accelerator,
    MemoryFigure,
    UnknownAccelerator,
    all_accelerators,
    custom_accelerator,
    get_accelerator,
)

GIB = 2**30
MIB = 2**20

# Totals that vLLM prints ("total_gpu_memory") or that its users read from torch, in GiB with two decimals.
PRINTED_CUDA_GIB = {
    "h100-sxm5-80gb": 79.18,
    "a100-sxm4-80gb": 79.25,
    "a100-sxm4-40gb": 39.39,
    "l4": 22.16,
    "t4": 14.56,
    "rtx-3090": 23.58,
    "rtx-4080": 15.99,
    "rtx-4090": 23.64,
    "rtx-5090": 31.37,
    "rtx-pro-6000-server": 94.97,
    "rtx-pro-6000-workstation": 94.97,
    "mi300x": 191.98,
    "mi350x": 287.98,
    "b200-sxm": 178.35,
    "dgx-spark-gb10": 121.63,
}
# nvidia-smi and rocm-smi totals in MiB.
PRINTED_DRIVER_MIB = {
    "h100-sxm5-80gb": 81559,
    "h200-sxm-141gb": 143771,
    "a100-sxm4-80gb": 81920,
    "b200-sxm": 183359,
    "l4": 23034,
    "rtx-4090": 24564,
    "mi300x": 196592,
    "b300-sxm": 275040,
}


SOURCED = [
    "compute_capability",
    "gfx",
    "release_year",
    "memory_marketing_gb",
    "memory_bandwidth",
    "interconnect_bandwidth",
    "pcie_gen",
    "pcie_lanes",
    "tdp_w",
]


def cuda_figure(accelerator_id: str) -> MemoryFigure:
    figure = get_accelerator(accelerator_id).memory_for_budget
    assert figure is not None
    return figure


@pytest.mark.parametrize(("accelerator_id", "printed"), PRINTED_CUDA_GIB.items())
def test_cuda_total_prints_as_the_engine_prints_it(accelerator_id: str, printed: float) -> None:
    figure = cuda_figure(accelerator_id)
    assert f"{figure.bytes / GIB:.2f}" == f"{printed:.2f}"
    assert figure.grade == "exact"


@pytest.mark.parametrize(("accelerator_id", "printed"), PRINTED_DRIVER_MIB.items())
def test_driver_total_is_the_printed_number_of_mebibytes(accelerator_id: str, printed: int) -> None:
    figure = get_accelerator(accelerator_id).memory_driver_bytes
    assert figure is not None
    assert figure.bytes == printed * MIB
    assert figure.grade == "exact"


def test_h100_has_two_totals() -> None:
    h100 = get_accelerator("h100-sxm5-80gb")
    assert h100.memory_driver_bytes is not None
    assert f"{h100.memory_driver_bytes.bytes / GIB:.2f}" == "79.65"
    assert f"{cuda_figure('h100-sxm5-80gb').bytes / GIB:.2f}" == "79.18"
    assert h100.memory_marketing_gb == 80


def test_a_reading_rounded_to_hundredths_says_so() -> None:
    figure = cuda_figure("rtx-3090")
    assert figure.error_bytes == round(0.005 * GIB)
    assert "±0.005 GiB" in figure.source


def test_datasheet_figures_of_an_h100() -> None:
    h100 = get_accelerator("h100-sxm5-80gb")
    assert h100.compute_capability == (9, 0)
    assert h100.memory_bandwidth == 3_350_000_000_000
    assert h100.flops["bf16"] == 989_400_000_000_000
    assert h100.interconnect_bandwidth == 450_000_000_000
    assert h100.tdp_w == 700
    assert "fp4" not in h100.flops


def test_pcie_5_x16_is_63_gigabytes_a_second() -> None:
    assert get_accelerator("h100-sxm5-80gb").pcie_bandwidth == 63_015_384_615  # 32 GT/s × 16 × 128/130 / 8
    assert get_accelerator("apple-m4").pcie_bandwidth is None


def test_two_die_card_is_described_as_one_device() -> None:
    gcd = get_accelerator("mi250x")
    assert gcd.memory_marketing_gb == 64
    assert gcd.memory_bandwidth == 1_640_000_000_000
    assert gcd.flops["bf16"] == 191_500_000_000_000


def test_there_are_at_least_120_entries_with_distinct_ids_and_names() -> None:
    accelerators = all_accelerators()
    assert len(accelerators) >= 120
    assert len({a.id for a in accelerators}) == len(accelerators)
    assert len({a.name for a in accelerators}) == len(accelerators)


@pytest.mark.parametrize("accelerator", all_accelerators(), ids=lambda a: a.id)
def test_every_figure_names_a_source(accelerator: Accelerator) -> None:
    present = [field for field in SOURCED if getattr(accelerator, field) is not None]
    present += [f"flops.{dtype}" for dtype in accelerator.flops]
    assert [field for field in present if not accelerator.sources_of(field)] == []


@pytest.mark.parametrize("accelerator", all_accelerators(), ids=lambda a: a.id)
def test_no_source_supports_a_figure_that_is_not_there(accelerator: Accelerator) -> None:
    for field in {field for fields in accelerator.sources.values() for field in fields}:
        head, _, dtype = field.partition(".")
        value = getattr(accelerator, head)
        assert dtype in value if dtype else value not in (None, ())


@pytest.mark.parametrize("accelerator", all_accelerators(), ids=lambda a: a.id)
def test_totals_shrink_from_box_to_driver_to_process(accelerator: Accelerator) -> None:
    driver, cuda = accelerator.memory_driver_bytes, accelerator.memory_cuda_bytes
    nominal = accelerator.memory_marketing_gb
    if cuda is None:
        assert nominal is None  # only a chip whose size is unknown has no budget
        return
    if driver is not None and nominal is not None:
        assert cuda.bytes <= driver.bytes + 5 * MIB  # 15.99 GiB of the RTX 4080 is a rounded reading
        assert driver.bytes <= nominal * GIB
    elif nominal is not None:
        assert cuda.bytes < nominal * GIB


def test_picker_order() -> None:
    kinds = ["datacenter", "workstation", "consumer", "unified", "tpu", "asic"]
    accelerators = all_accelerators()
    assert [a.kind for a in accelerators] == sorted((a.kind for a in accelerators), key=kinds.index)
    for kind in kinds[:3]:
        years = [a.release_year or 0 for a in accelerators if a.kind == kind]
        assert years == sorted(years, reverse=True)
    unified = [a.vendor == "Apple" for a in accelerators if a.kind == "unified"]
    assert unified == sorted(unified)


def test_unknown_id_suggests_the_closest() -> None:
    with pytest.raises(UnknownAccelerator, match="h100-sxm5-80gb") as error:
        get_accelerator("H100 SXM")
    assert isinstance(error.value, ValueError)
    assert str(error.value).startswith('accelerator "H100 SXM" is not in the catalog. Close ids: ')
    with pytest.raises(UnknownAccelerator, match="rtx-4090"):
        get_accelerator("rtx-4009")


def test_unknown_id_message_stays_short() -> None:
    with pytest.raises(UnknownAccelerator) as error:
        get_accelerator("x" * 1_000_000)
    assert len(str(error.value)) < 250


def test_custom_accelerator_budgets_with_the_size_given() -> None:
    card = custom_accelerator("My card", 85_021_000_000)
    assert card.memory_for_budget == MemoryFigure(bytes=85_021_000_000, grade="exact", source="given by the user")
    assert card.compute_capability is None
    assert card.flops == {}


@pytest.mark.parametrize("size", [0, -1, 2**50 + 1])
def test_custom_accelerator_refuses_an_impossible_size(size: int) -> None:
    with pytest.raises(ValueError, match="total_memory_bytes"):
        custom_accelerator("My card", size)


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(get_accelerator("l4"), "tdp_w", 1)  # noqa: B010 (a type checker knows that it is frozen)


def test_import_stays_light() -> None:
    code = "import sys, hardware_catalog; print([m for m in sys.modules if m in set(sys.argv[1:])])"
    heavy = ["pandas", "numpy", "torch", "streamlit", "hardware_catalog.prices"]
    printed = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"
