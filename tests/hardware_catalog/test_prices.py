"""Prices against the summaries computed by others from the same offers."""

import pytest

from hardware_catalog import all_accelerators
from hardware_catalog.prices import price_per_hour


def test_h100_median_over_providers() -> None:
    price = price_per_hour("h100-sxm5-80gb")
    assert price is not None
    assert price.median_usd == pytest.approx(3.945)
    assert (price.min_usd, price.max_usd, price.providers) == (1.8, 12.29, 12)
    assert price.newest_date is not None and price.newest_date.startswith("2026-")


def test_one_provider_with_many_regions_counts_once() -> None:
    price = price_per_hour("a10g")
    assert price is not None
    assert price.providers == 1
    assert price.median_usd == pytest.approx(1.212)  # mean of 1.006 and 1.418


def test_excluded_offers_are_shown_and_not_counted() -> None:
    price = price_per_hour("mi300x")
    assert price is not None
    assert [offer.provider for offer in price.offers if offer.excluded_because] == ["Hot Aisle"]
    assert price.median_usd == 3.45


def test_no_offer_means_no_price() -> None:
    assert price_per_hour("rubin-vr200") is None
    assert price_per_hour("no-such-card") is None


def test_every_offer_has_a_source() -> None:
    prices = [price for a in all_accelerators() if (price := price_per_hour(a.id))]
    assert len(prices) == 39
    offers = [offer for price in prices for offer in price.offers]
    assert len(offers) == 197
    assert all(offer.source for offer in offers)
