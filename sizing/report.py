"""Report: everything the core says about one Scenario. Other programs rely on the names of its fields."""

from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal

from sizing.scenario import Scenario

Grade = Literal["exact", "calibrated", "assumed"]
GRADES: tuple[Grade, ...] = ("exact", "calibrated", "assumed")
State = Literal["fits", "tight", "short"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Bytes by term. The terms + free + outside_budget = total; free is negative where the terms do not fit.

    `outside_budget_bytes` is what the engine leaves alone, other processes' memory included. Without a known
    memory size the last four are None. `tower_bytes` is no term: the part of weights_bytes that encoders take.
    """

    weights_bytes: int
    draft_bytes: int = 0
    encoder_bytes: int = 0
    tower_bytes: int = 0
    kv_bytes: int = 0
    state_bytes: int = 0
    activation_bytes: int = 0
    graph_bytes: int = 0
    runtime_bytes: int = 0
    free_bytes: int | None = None
    outside_budget_bytes: int | None = None
    total_bytes: int | None = None
    available_kv_bytes: int | None = None

    @property
    def static_bytes(self) -> int:
        """What is taken before the first request."""
        return (
            self.weights_bytes
            + self.draft_bytes
            + self.encoder_bytes
            + self.activation_bytes
            + self.graph_bytes
            + self.runtime_bytes
        )

    @property
    def cache_bytes(self) -> int:
        return self.kv_bytes + self.state_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Bytes that one replica leaves in host memory: weights, and the cache of context_length × its share of batch_size.

    The size of host memory is not known, so that it limits nothing.
    """

    weights_bytes: int
    kv_bytes: int = 0
    state_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """Cache of context_length × batch_size: the logical minimum of one copy, and what the engine's ranks reserve."""

    logical_bytes: int
    reserved_bytes: int
    fixed_bytes_per_sequence: int
    bytes_per_token: int
    bytes_per_sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One item of reserved − logical."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What fits. None: no memory is known, or memory sets no limit (see the notes)."""

    kv_tokens: int | None = None
    num_blocks: int | None = None
    max_concurrency: float | None = None
    max_context_at_batch: int | None = None
    max_batch_at_context: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A single change, what it gains per GPU, and whether the scenario fits with it.

    `values` are the Scenario fields to set; `max_batch` how many sequences of the context length then fit, None
    without limit; `kind` one of setting, precision, load, hardware.
    """

    change: str
    gain_bytes: int
    fits: bool
    kind: str = "setting"
    values: dict[str, Any] = field(default_factory=dict)
    max_batch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`short_term`: what is too large, "weights" or another term where the budget ends before the cache begins.

    `error_bytes`: how far the memory left on a GPU may be off either way, because some terms are estimates. `stands`:
    whether what is left, or short, is as much. A load that fits by less is tight. `starts_with`: what the engine does
    about a load that does not fit, as a sentence; None where it does not start.
    """

    state: State | None = None
    fits: bool | None = None
    short_by_bytes: int | None = None
    short_term: str | None = None
    error_bytes: int | None = None
    stands: bool | None = None
    starts_with: str | None = None
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedLoad:
    """batch_size sequences of average_context_length, one of which grows to context_length.

    What they use, the pool that admits them, and the most such sequences (None: memory sets no limit).
    """

    live_bytes_per_gpu: int
    need_bytes_per_gpu: int
    max_batch: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaReport:
    """What the media of one sequence take: tokens of its context and bytes of its cache, by the logical minimum.

    `image_tokens` and `image_bytes` are of one image. None: the rule of this family of models is not known.
    """

    images: int
    image_tokens: int | None
    image_bytes: int | None
    video_tokens: int | None
    audio_tokens: int | None
    tokens: int | None
    cache_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The verdict and the capacity alone, without the remedies."""

    verdict: Verdict
    capacity: Capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What the engine prints at start-up; empty for engines that print nothing of the kind."""

    model_loading_bytes: int | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Filled by the roofline once it exists."""

    prefill_seconds: float | None = None
    decode_seconds_per_token: float | None = None
    tokens_per_second: float | None = None
    bound: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """How sure each term is."""

    weights: Grade = "exact"
    kv: Grade = "exact"
    state: Grade = "exact"
    activation: Grade = "assumed"
    graphs: Grade = "assumed"
    runtime: Grade = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of the above for one Scenario, which is carried with every default resolved.

    `differences` add up to reserved − logical bytes of the cache. `host` is llama.cpp's; None
    for engines that are told how much to leave there.
    """

    scenario: Scenario
    per_gpu: Footprint
    cluster: Footprint
    cache: CacheReport
    capacity: Capacity
    needed_kv_bytes_per_gpu: int
    log: Log
    verdict: Verdict
    speed: Speed
    grades: Grades
    notes: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    mixed: MixedLoad | None = None
    host: Host | None = None
    media: MediaReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, in the order of the fields."""
        return {each.name: _jsonable(getattr(self, each.name)) for each in fields(self)}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Scenario):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [_jsonable(each) for each in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
