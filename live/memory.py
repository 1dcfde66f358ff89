"""Is there room for a run? What this machine has free, and what the run will need, without torch."""

from dataclasses import dataclass
from pathlib import Path

from live.prediction import Predicted
from live.receipts import ELEMENT_BYTES
from sizing.weights.parameters import parameters

MEMINFO = Path("/proc/meminfo")
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
CGROUP_USED = Path("/sys/fs/cgroup/memory.current")
# Rows of hidden states alive at once in a forward pass: read off the library's decoder layers, and assumed.
WORKING_ROWS = 16


@dataclass(frozen=True)
class Need:
    """Bytes of a run: its weights, its cache at the end, and working memory, which is an estimate."""

    weights: int
    cache: int
    working: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.working


def need_of(predicted: Predicted) -> Need:
    """The prefill's hidden states and one step's logits are the working memory, with a second copy of the cache's
    largest part, since a DynamicCache concatenates. Raises ScenarioError where the library has no such cache.
    """
    spec, settings = predicted.spec, predicted.settings
    element = ELEMENT_BYTES[settings.dtype]
    rows = settings.batch * settings.prompt_tokens * spec.hidden_size * WORKING_ROWS * element
    logits = settings.batch * spec.vocab_size * 4
    cache = predicted.at(settings.max_tokens)
    concatenated = cache // max(1, spec.num_layers) if settings.cache == "dynamic" else 0
    return Need(parameters(spec) * element, cache, rows + logits + concatenated)


def free_host_bytes() -> int | None:
    """What this machine, or the container it is, can still give; None where the system does not say (not Linux)."""
    known = [size for size in (_available(), _left_in_container()) if size is not None]
    return min(known) if known else None


def _available() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return int(kib) * 1024 if kib else None


def _left_in_container() -> int | None:
    try:
        limit, used = CGROUP_LIMIT.read_text().strip(), CGROUP_USED.read_text().strip()
    except OSError:
        return None
    return max(0, int(limit) - int(used)) if limit.isdigit() else None
