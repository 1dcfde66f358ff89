"""What sizing predicts for a live run, and how the measurements compare: no torch, so that receipts show anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from live.receipts import Run, Settings
from model_catalog.importers import read_config
from model_catalog.spec import ModelSpec
from sizing.cache import CacheCost
from sizing.costs import model_cost
from sizing.engines import transformers
from sizing.scenario import make_scenario

CONFIDENCE = 1.96  # standard errors of a normal distribution on each side: 95 %


@dataclass(frozen=True)
class Predicted:
    """The cache of a run of `settings` on a model of `spec`, by the number of tokens of each sequence."""

    spec: ModelSpec
    settings: Settings

    @cached_property
    def cost(self) -> CacheCost:
        """Of one sequence. Raises ScenarioError where the library has no such cache."""
        cost = dynamic_cost(self.spec, self.settings.dtype)
        return transformers.static_cost(cost, self.settings.max_tokens) if self.settings.cache == "static" else cost

    def at(self, tokens: int) -> int:
        return int(self.cost.bytes(tokens, self.settings.batch))

    def rate(self, tokens: int) -> int:
        """Bytes that the whole batch adds with its next token."""
        return self.cost.rate(tokens) * self.settings.batch


def dynamic_cost(spec: ModelSpec, dtype: str) -> CacheCost:
    """One sequence's DynamicCache. Raises ScenarioError for a dtype the model cannot run in."""
    scenario = make_scenario({"model": "config", "engine": "transformers", "kv_dtype": dtype})
    return model_cost(spec, transformers.mixer_cost_of(spec), transformers.formats(scenario, spec))


def predicted_of(run: Run) -> Predicted:
    """Raises ConfigError where the receipt's config cannot be read."""
    return Predicted(read_config(run.config), run.settings)


def residuals(run: Run, predicted: Predicted) -> list[int]:
    """Measured minus predicted bytes, step by step."""
    pairs = zip(run.steps.tokens, run.steps.cache, strict=True)
    return [measured - predicted.at(tokens) for tokens, measured in pairs]


@dataclass(frozen=True)
class Fit:
    """A straight line by least squares; the half-widths are those of the 95 % confidence intervals."""

    slope: float
    intercept: float
    slope_half: float
    intercept_half: float
    points: int


def fit_line(xs: Sequence[float], ys: Sequence[float]) -> Fit | None:
    """None for fewer than three points."""
    if len(xs) < 3:
        return None
    x, y = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    away = x - x.mean()
    spread = float((away**2).sum())
    slope = float((away * (y - y.mean())).sum()) / spread
    intercept = float(y.mean()) - slope * float(x.mean())
    error = sqrt(float(((y - intercept - slope * x) ** 2).sum()) / (len(x) - 2))
    half = CONFIDENCE * error
    at_zero = sqrt(1 / len(x) + float(x.mean()) ** 2 / spread)
    return Fit(slope, intercept, half / sqrt(spread), half * at_zero, len(x))


def straight_part(run: Run, predicted: Predicted) -> slice:
    """The steps after the last window has filled; where that leaves too few, those before the first one fills."""
    tokens, knees = run.steps.tokens, predicted.cost.knees
    after = sum(n < max(knees, default=0) for n in tokens)
    if not knees or len(tokens) - after >= 3:
        return slice(after, len(tokens))
    return slice(0, sum(n <= min(knees) for n in tokens))


@dataclass(frozen=True)
class Growth:
    """Slope and fixed part of the cache where it grows straight, measured and predicted, in bytes of the batch."""

    measured: Fit
    slope: int
    intercept: int
    first: int
    last: int


def growth_of(run: Run, predicted: Predicted) -> Growth | None:
    part = straight_part(run, predicted)
    tokens = run.steps.tokens[part]
    fit = fit_line(tokens, run.steps.cache[part])
    if fit is None:
        return None
    slope = predicted.rate(tokens[0])
    return Growth(fit, slope, predicted.at(tokens[0]) - slope * tokens[0], tokens[0], tokens[-1])


def held_ratio(run: Run) -> float | None:
    """Bytes torch reserved beyond the weights as a multiple of the last step's cache; None without an allocator."""
    last = run.steps.reserved[-1] if run.steps.reserved else None
    if last is None or run.before.reserved is None or not run.steps.cache[-1]:
        return None
    return (last - run.before.reserved) / run.steps.cache[-1]


@dataclass(frozen=True)
class Times:
    """Seconds. `first`: to the first token. `each`: the median decoded token. `line`: decode time against length."""

    first: float
    each: float | None
    line: Fit | None

    @property
    def reading_bound_from(self) -> int | None:
        """Tokens from which the part of a step that grows with the cache outweighs the rest; None if not measurable."""
        if self.line is None or self.line.slope <= self.line.slope_half or self.line.intercept <= 0:
            return None
        return round(self.line.intercept / self.line.slope)


def times_of(run: Run) -> Times | None:
    seconds = run.steps.seconds
    if not seconds:
        return None
    decode = seconds[1:]
    each = float(np.median(decode)) if decode else None
    return Times(seconds[0], each, fit_line(run.steps.tokens[1:], decode))


def weights_equal_cache(run: Run, predicted: Predicted) -> int | None:
    """Tokens at which the cache has as many bytes as the weights, so that a step reads as much of both."""
    straight = max((run.settings.max_tokens, *predicted.cost.knees))
    rate = predicted.rate(straight)
    if rate <= 0:
        return None
    base = predicted.at(straight) - rate * straight
    return max(0, -(-(run.weight_bytes - base) // rate))
