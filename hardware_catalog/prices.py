"""What an hour of an accelerator costs to rent: dated public list prices and their median over providers."""

import json
from functools import cache
from pathlib import Path
from statistics import median

from pydantic import BaseModel, ConfigDict, Field

_DATA = Path(__file__).parent / "data" / "prices.json"


class Offer(BaseModel):
    """One provider's price in US dollars for one accelerator for one hour; date is None where unknown.

    An offer with `excluded_because` is shown but not counted in a median.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    usd_per_gpu_hour: float = Field(gt=0)
    source: str = Field(min_length=1)
    date: str | None = None
    region: str | None = None
    sku: str | None = None
    gpu_count: int | None = None
    spot_usd: float | None = None
    marketplace: bool = False
    excluded_because: str | None = None


class Price(BaseModel):
    """The rent of one accelerator. median_usd is over providers, each with the median of its own offers."""

    model_config = ConfigDict(frozen=True)

    accelerator_id: str
    median_usd: float
    min_usd: float
    max_usd: float
    providers: int
    newest_date: str | None
    offers: tuple[Offer, ...]


def price_per_hour(accelerator_id: str) -> Price | None:
    """The price of an accelerator in US dollars an hour, or None where no usable offer was recorded."""
    offers = _offers().get(accelerator_id, ())
    by_provider: dict[str, list[float]] = {}
    for offer in offers:
        if offer.excluded_because is None:
            by_provider.setdefault(offer.provider, []).append(offer.usd_per_gpu_hour)
    if not by_provider:
        return None
    counted = [usd for prices in by_provider.values() for usd in prices]
    return Price(
        accelerator_id=accelerator_id,
        median_usd=median(median(prices) for prices in by_provider.values()),
        min_usd=min(counted),
        max_usd=max(counted),
        providers=len(by_provider),
        newest_date=max((o.date for o in offers if o.date and o.excluded_because is None), default=None),
        offers=offers,
    )


@cache
def _offers() -> dict[str, tuple[Offer, ...]]:
    rows = json.loads(_DATA.read_bytes())
    return {accelerator_id: tuple(Offer(**row) for row in offers) for accelerator_id, offers in rows.items()}
