"""Memory totals that nobody has read yet, by stated rules. A reading in the data always wins over a rule.

Three totals differ. The box says 80 GB; the driver of that H100 shows 81,559 MiB; CUDA offers 81,082 MiB.
Each rule below names the readings it was found on and how far it misses them; tests hold it to that on the
data of this catalog.
"""

from hardware_catalog.schema import MemoryFigure

MIB = 2**20
GIB = 2**30

CUDA_GAP_FIXED = 384 * MIB
CUDA_GAP_PER_GIB = 2 * MIB
CUDA_GAP_ERROR = 224 * MIB
METAL_PAGE = 16 * 2**10


def cuda_from_driver(driver: MemoryFigure) -> MemoryFigure:
    """CUDA total of a discrete NVIDIA card: the driver's total less 384 MiB less 2 MiB for each GiB.

    The least-absolute-error line, rounded, through the 38 cards of 8 to 180 GiB with both readings on Linux
    (gaps from 233 MiB on a V100 to 767 MiB on an A100 80 GB). Median error 54 MiB, largest 223 MiB. Drivers
    of different years move a card's own total by up to 215 MiB, so a finer rule would fit noise. Windows
    leaves nearly the whole driver total visible; its readings are not used.
    """
    gap = CUDA_GAP_FIXED + driver.bytes * CUDA_GAP_PER_GIB // GIB
    error = CUDA_GAP_ERROR if driver.grade == "exact" else None
    source = f"rule: driver total − 384 MiB − 2 MiB per GiB; {driver.source}"
    return MemoryFigure(bytes=driver.bytes - gap, grade="assumed", source=source, error_bytes=error)


def driver_share(kind: str, memory_type: str | None) -> tuple[int, int]:
    """Share of the nominal GiB that an NVIDIA driver shows, as a fraction (numerator, denominator).

    HBM2 and HBM2e show all (V100, A30, A100; the H100 PCIe, at 0.9956, does not follow). HBM3 and later show
    0.9956 (H100, H200, H20, GH200, B200, GB200 within 0.0009; B300 and GB300, at 0.933 and 0.964, do not).
    GDDR of datacenter cards runs with ECC, which takes 1/16 (T4, A10, A10G, A16, A40, L4, L40S within
    0.0005). GDDR7 shows 0.9951 (five sizes within 0.0007). Other GDDR shows all but at most 0.0005.
    """
    memory = memory_type or ""
    if memory.startswith("HBM2"):
        return 1, 1
    if memory.startswith("GDDR7"):
        return 9951, 10_000
    if memory.startswith("GDDR"):
        return (15, 16) if kind == "datacenter" else (1, 1)
    return 9956, 10_000


def driver_from_nominal(nominal_gb: float, vendor: str, kind: str, memory_type: str | None) -> MemoryFigure:
    """Driver total from the size on the box, read as GiB because memory chips come in binary sizes.

    NVIDIA: the share of `driver_share`. AMD: 16 MiB less than nominal, as MI210, MI250X and MI300X read.
    Other vendors, of which no reading is known: all of it.
    """
    nominal = round(nominal_gb * GIB)
    if vendor == "NVIDIA":
        numerator, denominator = driver_share(kind, memory_type)
        size, rule = nominal * numerator // denominator, f" × {numerator / denominator:.5g}"
    else:
        size, rule = (nominal - 16 * MIB, " − 16 MiB") if vendor == "AMD" else (nominal, "")
    source = f"rule: nominal {nominal_gb:g} GiB{rule}"
    return MemoryFigure(bytes=size, grade="assumed", source=source, error_bytes=None)


def metal_working_set(ram_gb: float) -> MemoryFigure:
    """Metal's recommendedMaxWorkingSetSize: two thirds of the RAM up to 32 GiB, three quarters above.

    Rounded up to a page of 16 KiB. Reproduces all seven logs read to the printed digit (8, 16, 32, 48,
    twice 64 and 192 GB; M1 to M3 generations). Sizes between 32 and 48 GB are taken with the larger ones.
    """
    ram = round(ram_gb * GIB)
    share, numerator, denominator = ("2/3", 2, 3) if ram_gb <= 32 else ("3/4", 3, 4)
    size = -(-ram * numerator // (denominator * METAL_PAGE)) * METAL_PAGE
    return MemoryFigure(
        bytes=size, grade="calibrated", source=f"rule: Metal working set, {share} of {ram_gb:g} GiB RAM"
    )


def unified_nvidia(nominal_gb: float) -> MemoryFigure:
    """CUDA total of a Jetson or GB10 without a reading: 0.95 of the nominal GiB.

    Five readings lie from 0.930 (Orin Nano 8 GB) to 0.960 (Thor 128 GB), GB10 at 0.950.
    """
    size = round(nominal_gb * GIB) * 95 // 100
    error = round(nominal_gb * GIB) * 2 // 100
    return MemoryFigure(bytes=size, grade="assumed", source="rule: 0.95 of the nominal GiB", error_bytes=error)
