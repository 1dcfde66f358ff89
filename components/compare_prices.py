"""What an hour costs: the median list price, or the reader's own, which is kept in the address."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hardware_catalog import UnknownAccelerator, get_accelerator
from hardware_catalog.prices import price_per_hour

SHAPE = re.compile(r"\d{1,6}(\.\d{1,4})?")
LONGEST_PRICES = 4_000


@dataclass(frozen=True)
class Rent:
    """US dollars for one accelerator for one hour, when that was, and who says so."""

    usd: float
    date: str
    source: str


def rent_of(accelerator: str | None, own: Mapping[str, float]) -> Rent | None:
    """None where no price was recorded and none was given."""
    if accelerator is None:
        return None
    if accelerator in own:
        return Rent(own[accelerator], "", "as given")
    price = price_per_hour(accelerator)
    if price is None:
        return None
    counted = [offer for offer in price.offers if offer.excluded_because is None]
    newest = max(counted, key=lambda offer: offer.date or "")
    spread = f"median of {price.providers} providers, {price.min_usd:.2f} to {price.max_usd:.2f}"
    who = spread if price.providers > 1 else newest.provider
    return Rent(price.median_usd, price.newest_date or "not dated", f"{who}; {newest.source}")


def write_prices(own: Mapping[str, float]) -> str:
    """id~price~id~price …"""
    return "~".join(f"{accelerator}~{price:.4f}".rstrip("0").rstrip(".") for accelerator, price in own.items())


def read_prices(text: str) -> tuple[dict[str, float], str]:
    """The prices of an address and a sentence about what could not be read, or an empty one."""
    own, unread = {}, False
    parts = text[:LONGEST_PRICES].split("~") if text else []
    for accelerator, price in _pairs(parts):
        if _known(accelerator) and SHAPE.fullmatch(price):
            own[accelerator] = float(price)
        else:
            unread = True
    damaged = unread or len(text) > LONGEST_PRICES or len(parts) % 2
    return own, "A price in the link cannot be read; the list price is used." if damaged else ""


def _pairs(parts: list[str]) -> Iterable[tuple[str, str]]:
    return zip(parts[::2], parts[1::2], strict=False)


def _known(accelerator: str) -> bool:
    try:
        return bool(get_accelerator(accelerator))
    except UnknownAccelerator:
        return False
