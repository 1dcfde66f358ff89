"""What the model needs, whatever the engine: the rules of engine `minimum` for one copy of the whole model."""

from sizing.cache import CacheCost
from sizing.cache_formats import CacheFormats
from sizing.costs import model_cost
from sizing.engines import minimum
from sizing.engines.plan import EnginePlan
from sizing.scenario import ScenarioError


def logical_cost(planned: EnginePlan) -> CacheCost:
    """In the cache format that was asked for, which an engine may have replaced by one of its own."""
    return model_cost(planned.spec, minimum.mixer_cost, _asked_formats(planned))


def logical_cost_as_kept(planned: EnginePlan) -> CacheCost:
    """In the format that the engine keeps."""
    return model_cost(planned.spec, minimum.mixer_cost, minimum.RULES.formats(planned.scenario, planned.spec))


def _asked_formats(planned: EnginePlan) -> CacheFormats:
    """Those kept where nobody asked, or where the model has no such format and the engine passed it over."""
    asked = planned.asked_kv or planned.scenario.kv_dtype
    try:
        return minimum.RULES.formats(planned.scenario.model_copy(update={"kv_dtype": asked}), planned.spec)
    except ScenarioError:
        return minimum.RULES.formats(planned.scenario, planned.spec)
