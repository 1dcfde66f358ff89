"""One module an engine: how it lays out the cache and what share of a GPU's memory it may use."""

from sizing.engines import minimum, transformers
from sizing.engines.rules import EngineRules

ENGINES: dict[str, EngineRules] = {rules.name: rules for rules in (minimum.RULES, transformers.RULES)}
