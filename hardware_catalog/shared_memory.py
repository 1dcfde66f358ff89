"""Machines whose CPU and GPU share their memory: what share of it the GPU may use, why, and how to raise it."""

from dataclasses import dataclass

from hardware_catalog.memory_rules import GIB, METAL_PAGE, MIB
from hardware_catalog.schema import Accelerator

# Metal's limit since macOS 26, in hundredths of the RAM up to so many GiB and whole pages, as llama.cpp printed it:
# 12713.12 MB of 16 GiB, 19069.67 of 24, 26800.60 of 32, 30150.67 of 36, 40200.90 of 48, 55662.79 of 64 (macOS 27.0),
# 115448.73 of 128 (macOS 26.2). Of 512 GiB it was 498216.21 MB, all but 48 GiB; machines between were not seen.
NEW_METAL_SHARES = ((24, 74), (48, 78), (64, 81), (128, 84))
LARGEST_METAL, LARGEST_METAL_LIMIT = 512, 464 * GIB
# iogpu.wired_limit_mb=114688 on 128 GiB (github.com/antirez/ds4/pull/893); how much macOS bears elsewhere is not known.
WIRED_SHARE = 7, 8
STRIX_HALO_RAISED = 126_976 * MIB  # "Total VRAM: 126976 MiB" on 128 GiB: github.com/ggml-org/llama.cpp/issues/21801


@dataclass(frozen=True, slots=True)
class Raised:
    """A larger share, and what brings it."""

    bytes: int
    by: str


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """`note` says what the share is and why; `raised` are larger ones, the smallest first."""

    note: str
    raised: tuple[Raised, ...] = ()


def shared_memory(accelerator: Accelerator | None) -> SharedMemory | None:
    """None for cards with memory of their own, and where no size is known."""
    if accelerator is None or accelerator.kind != "unified":
        return None
    usable, nominal = accelerator.memory_for_budget, accelerator.memory_marketing_gb
    if usable is None or nominal is None:
        return None
    share = f"The GPU may use {usable.bytes / GIB:.1f} of the {nominal:g} GiB that it shares with the CPU"
    match accelerator.vendor:
        case "Apple":
            return _apple(share, usable.bytes, nominal)
        case "AMD":
            return _amd(share)
        case _:
            return SharedMemory(f"{share}, as CUDA reports; what the system and other programs hold comes out of it.")


def _apple(share: str, usable: int, nominal: float) -> SharedMemory:
    newer = new_metal_limit(nominal) or usable
    wired = round(nominal * GIB) * WIRED_SHARE[0] // WIRED_SHARE[1]
    since = f", and from macOS 26 on {newer / GIB:.1f}" if newer > usable else ""
    note = f"{share}, Metal's recommendedMaxWorkingSetSize{since}; sudo sysctl iogpu.wired_limit_mb=… raises it."
    newest = (Raised(newer, "macOS 26 or later"),) if newer > usable else ()
    return SharedMemory(note, (*newest, *((Raised(wired, "iogpu.wired_limit_mb"),) if wired > newer else ())))


def new_metal_limit(nominal: float) -> int | None:
    """Bytes that Metal recommends since macOS 26, of so many GiB; None of a size that was not seen."""
    if nominal == LARGEST_METAL:
        return LARGEST_METAL_LIMIT
    hundredths = next((hundredths for most, hundredths in NEW_METAL_SHARES if nominal <= most), None)
    if hundredths is None:
        return None
    return -(-round(nominal * GIB) * hundredths // (100 * METAL_PAGE)) * METAL_PAGE


def _amd(share: str) -> SharedMemory:
    """Linux maps half of the memory for the GPU (GTT) unless it is told otherwise; the BIOS may set some aside."""
    note = (
        f"{share}, which the BIOS sets aside for it; on Linux it can map the rest too, half of the memory unless "
        "ttm.pages_limit says more."
    )
    return SharedMemory(note, (Raised(STRIX_HALO_RAISED, "ttm.pages_limit"),))
