"""Numbers as people read them: bytes, tokens, shares. Bytes stay whole until they get here."""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

Unit = Literal["GiB", "GB"]
UNITS: tuple[Unit, ...] = ("GiB", "GB")
BYTES_IN: dict[str, int] = {
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
LADDERS: dict[Unit, tuple[str, ...]] = {"GiB": ("GiB", "MiB", "KiB"), "GB": ("GB", "MB", "KB")}
SIZE = re.compile(r"(\d{1,3}(?:,\d{3})+|\d{1,18})(\.\d{1,9})?\s*([KMGT]?I?B?)", re.IGNORECASE)


def three_figures(value: float) -> str:
    """0.78, 9.38, 40.4, 1,035; a true minus for what is negative."""
    size = abs(value)
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{'−' if value < 0 else ''}{size:,.{decimals}f}"


def number_in(size: int, unit: str) -> str:
    """The number alone, for places that name the unit once: legends and bars."""
    return three_figures(size / BYTES_IN[unit])


def two_decimals(size: int, unit: str) -> str:
    return f"{'−' if size < 0 else ''}{abs(size) / BYTES_IN[unit]:,.2f}"


def amount(size: int, unit: Unit) -> str:
    """40.4 GiB; what would read 0.00 steps down to MiB, KiB or bytes."""
    for name in LADDERS[unit]:
        if abs(size) >= BYTES_IN[name] / 100:
            return f"{number_in(size, name)} {name}"
    return f"{size:,} B"


def scaled(size: int, unit: Unit) -> str:
    """In the largest unit that gives at least 1; whole MiB and KiB without decimals: 1.00 GiB, 128 KiB, 656 B."""
    for name in LADDERS[unit]:
        if size >= BYTES_IN[name]:
            whole, rest = divmod(size, BYTES_IN[name])
            return f"{number_in(size, name) if rest or name == unit else f'{whole:,}'} {name}"
    return f"{size:,} B"


def both_units(size: int) -> str:
    """21,474,836,480 B = 20.00 GiB = 21.47 GB."""
    return f"{size:,} B = {two_decimals(size, 'GiB')} GiB = {two_decimals(size, 'GB')} GB"


def short_tokens(tokens: int) -> str:
    """8K, 1.5K, 1M for round lengths; others in full."""
    for unit, name in ((2**20, "M"), (2**10, "K")):
        if tokens >= unit and tokens % (unit // 2) == 0:
            return f"{tokens / unit:,g}{name}"
    return f"{tokens:,}"


def share(part: int, whole: int) -> str:
    """A percentage without decimals, "< 1%" for a little, "14×" from ten times on."""
    ratio = part / whole
    if ratio >= 9.995:
        return f"{ratio:,.0f}×"
    return "< 1%" if 0 < ratio < 0.005 else f"{ratio:.0%}"


def multiple(part: int, whole: int) -> str:
    """3.5×, 0.4×, 12×."""
    ratio = part / whole
    return f"{ratio:,.1f}×" if ratio < 9.95 else f"{ratio:,.0f}×"


def counted(number: int, noun: str) -> str:
    """1 request, 16 requests."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def parse_size(text: str) -> int:
    """Bytes of "24 GiB", "24 GB", "0.5g" (GiB) or "25,757,220,864". Raises ValueError with a sentence."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{text[:40]}" is not a size. Write it like 24 GiB, 24 GB or 25,757,220,864.')
    whole, fraction, unit = match.groups()
    size = Fraction(whole.replace(",", "") + (fraction or "")) * BYTES_IN[_unit_named(unit)]
    return int(size)


def _unit_named(text: str) -> str:
    """No unit means bytes; a bare letter means the binary unit."""
    spelled = text.upper()
    if len(spelled) == 1 and spelled != "B":
        spelled += "IB"
    return next((name for name in BYTES_IN if name.upper() == spelled), "B")


def size_entry(size: int) -> str:
    """The text of a size field: the shortest that parse_size reads back as the same bytes."""
    for name in ("GiB", "GB", "MiB"):
        if size and size % BYTES_IN[name] == 0:
            return f"{size // BYTES_IN[name]} {name}"
    return f"{size:,} B"


def listed(numbers: Iterable[float]) -> str:
    """3,1 — with commas between, and without the point of whole numbers; they read back the same."""
    return ",".join(str(int(number)) if number == int(number) else str(number) for number in numbers)
