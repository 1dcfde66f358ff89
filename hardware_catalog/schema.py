"""What the catalog knows of one accelerator: the frozen `Accelerator` model and its parts.

An entry describes one device as an engine counts it (one GCD of an MI250X, one of the four GPUs of an A16).
Sizes are bytes, rates are bytes or operations a second, and rates are dense. Unknown stays None.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Grade = Literal["exact", "calibrated", "assumed"]
Kind = Literal["datacenter", "workstation", "consumer", "unified", "tpu", "asic", "custom"]
Dtype = Literal["fp32", "fp16", "bf16", "fp8", "int8", "fp4"]

# GT/s a lane times the encoding (128b/130b; flits of 242 in 256 bytes for PCIe 6), in bytes/s.
_PCIE_LANE_BYTES = {
    3: 8e9 * 128 / 130 / 8,
    4: 16e9 * 128 / 130 / 8,
    5: 32e9 * 128 / 130 / 8,
    6: 64e9 * 242 / 256 / 8,
}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MemoryFigure(_Frozen):
    """A memory size with how sure it is.

    grade: "exact" for a reading (rounded as `error_bytes` says), "calibrated" for a rule that reproduces its
    readings to the printed digit, "assumed" for any other rule. error_bytes is its half-width:
    the printed rounding of a reading or the largest error of a rule on its readings, None if unknown.
    """

    bytes: int = Field(gt=0)
    grade: Grade
    source: str = Field(min_length=1)
    error_bytes: int | None = Field(default=0, ge=0)


class Alternate(_Frozen):
    """A figure that another source gives, and why it is not the one kept. Same units as the field."""

    field: str
    value: int | float | str
    source: str = Field(min_length=1)
    why: str = Field(min_length=1)


class Accelerator(_Frozen):
    """One accelerator.

    memory_driver_bytes is the total that the driver's own tool shows (nvidia-smi, rocm-smi);
    memory_cuda_bytes is what CUDA, HIP or Metal offers a process, of which engines take their fraction;
    memory_marketing_gb is the number on the box, decimal for some products and binary for others.
    """

    id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    vendor: str
    kind: Kind
    architecture: str | None = None
    compute_capability: tuple[int, int] | None = None
    gfx: str | None = None
    release_year: int | None = Field(default=None, ge=2010, le=2035)

    memory_type: str | None = None
    memory_marketing_gb: float | None = Field(default=None, gt=0)
    memory_options_gb: tuple[float, ...] = ()
    memory_driver_bytes: MemoryFigure | None = None
    memory_cuda_bytes: MemoryFigure | None = None

    memory_bandwidth: int | None = Field(default=None, gt=0, description="bytes/s")
    flops: Mapping[Dtype, int] = Field(
        default_factory=dict, description="dense operations/s; a missing type is unknown"
    )
    interconnect: str | None = None
    interconnect_bandwidth: int | None = Field(default=None, gt=0, description="bytes/s in one direction")
    pcie_gen: int | None = Field(default=None, ge=3, le=6)
    pcie_lanes: int | None = Field(default=None, ge=1, le=16)
    tdp_w: int | None = Field(default=None, gt=0)

    alternates: tuple[Alternate, ...] = ()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = Field(default_factory=dict, description="source -> the fields it supports")

    @property
    def memory_for_budget(self) -> MemoryFigure | None:
        """The memory that engines budget with: what CUDA (HIP, Metal) offers. None where no size is known."""
        return self.memory_cuda_bytes

    @property
    def pcie_bandwidth(self) -> int | None:
        """Bytes/s of the PCIe slot in one direction, from generation and lanes (PCIe base specifications)."""
        if self.pcie_gen is None or self.pcie_lanes is None:
            return None
        return round(_PCIE_LANE_BYTES[self.pcie_gen] * self.pcie_lanes)

    def sources_of(self, field: str) -> tuple[str, ...]:
        """Where a figure comes from; rates are addressed as "flops.fp8"."""
        return tuple(source for source, fields in self.sources.items() if field in fields)
