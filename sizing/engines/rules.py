"""What an engine module tells the core."""

from collections.abc import Callable
from dataclasses import dataclass

from model_catalog.spec import Mixer, ModelSpec
from sizing.cache import CacheCost
from sizing.cache_formats import CacheFormats
from sizing.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRules:
    """The rules of one engine. `mixer_cost` is what one layer's mixer keeps of one sequence on one rank.

    `default_fraction` is the share of a GPU's memory that the engine may use; `holds_prediction` whether weights
    for multi-token prediction are loaded when no draft is asked for.
    """

    name: str
    version: str
    default_fraction: float
    holds_prediction: bool
    formats: Callable[[Scenario, ModelSpec], CacheFormats]
    mixer_cost: Callable[[Mixer, CacheFormats], CacheCost]
    kv_dtypes: tuple[str, ...]
    notes: tuple[str, ...] = ()
