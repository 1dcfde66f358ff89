"""What a serving engine says about its cache and requests: the Prometheus text of vLLM, SGLang and llama.cpp.

Names by release, read in the engines' own sources:
vLLM (v1/metrics/loggers.py): kv_cache_usage_perc since 0.9, gpu_cache_usage_perc before; blocks in the labels of
cache_config_info, of late with the pool's tokens (kv_cache_size_tokens).
SGLang (srt/metrics/collector.py, later srt/observability/metrics_collector.py): the pool's size max_total_num_tokens
and the counter num_retracted_requests_total are newer than the gauge num_retracted_reqs.
llama.cpp (tools/server): kv_cache_usage_ratio and kv_cache_tokens in older builds only.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

LONGEST_METRICS = 4_000_000  # bytes; a vLLM server with every histogram sends about 60 kB
MOST_LINES = 20_000
PREFIXES = {"vllm:": "vllm", "sglang:": "sglang", "sglang_": "sglang", "llamacpp:": "llama.cpp"}
REPLICA_LABELS = ("engine", "dp_rank")
NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "vllm": {
        "running": ("num_requests_running",),
        "waiting": ("num_requests_waiting",),
        "usage": ("kv_cache_usage_perc", "gpu_cache_usage_perc"),
        "preemptions": ("num_preemptions_total",),
    },
    "sglang": {
        "running": ("num_running_reqs",),
        "waiting": ("num_queue_reqs",),
        "usage": ("token_usage",),
        "used_tokens": ("num_used_tokens",),
        "pool_tokens": ("max_total_num_tokens",),
        "preemptions": ("num_retracted_requests_total", "num_retracted_reqs"),
    },
    "llama.cpp": {
        "running": ("requests_processing",),
        "waiting": ("requests_deferred",),
        "usage": ("kv_cache_usage_ratio",),
        "used_tokens": ("kv_cache_tokens",),
        "longest_tokens": ("n_tokens_max",),
    },
}


class MetricsError(ValueError):
    """The text or the server gives no metrics; the message says why."""


@dataclass(frozen=True)
class ServerReading:
    """One look at a server; None is what it does not say.

    Requests and preemptions (SGLang: retractions) are summed over data-parallel replicas, `usage` is the fullest
    replica's share of its cache, and `num_blocks`, `pool_tokens` are those of one replica.
    """

    engine: str
    model: str | None = None
    replicas: int = 1
    running: int | None = None
    waiting: int | None = None
    preemptions: int | None = None
    usage: float | None = None
    used_tokens: int | None = None
    pool_tokens: int | None = None
    num_blocks: int | None = None
    block_size: int | None = None
    longest_tokens: int | None = None


def read_metrics(text: str) -> ServerReading:
    """Raises MetricsError with a sentence for anything but the metrics of an engine that is known."""
    if len(text) > LONGEST_METRICS:
        raise MetricsError(f"The text is longer than {LONGEST_METRICS // 10**6} MB; no engine's metrics are as long.")
    lines = [line for line in text.splitlines() if line.startswith(tuple(PREFIXES))]
    if not lines:
        raise MetricsError("No metrics of vLLM, SGLang or llama.cpp are in this text.")
    if len(lines) > MOST_LINES:
        raise MetricsError(f"The text has more than {MOST_LINES:,} lines of metrics; no engine's has.")
    samples = list(_samples(lines))
    engine = next(name for prefix, name in PREFIXES.items() if lines[0].startswith(prefix))
    return _reading(engine, samples)


def _samples(lines: Iterable[str]) -> Iterator[Sample]:
    """Names without their prefix. Values that are not numbers are left out."""
    for line in lines:
        try:
            families = list(text_string_to_metric_families(line + "\n"))
        except Exception as error:
            raise MetricsError(f'"{line[:80]}" is not a line of metrics ({str(error)[:80]}).') from None
        for family in families:
            for sample in family.samples:
                prefix = next((prefix for prefix in PREFIXES if sample.name.startswith(prefix)), "")
                if isfinite(sample.value):
                    yield sample._replace(name=sample.name.removeprefix(prefix))


def _reading(engine: str, samples: list[Sample]) -> ServerReading:
    found: dict[str, list[float]] = {}
    for field, names in NAMES[engine].items():
        for name in names:
            replicas = _by_replica(sample for sample in samples if sample.name == name)
            if replicas and field not in found:
                found[field] = replicas
    if not found:
        raise MetricsError("The text has metrics, but none about requests or the cache.")
    labels = next((sample.labels for sample in samples if sample.name == "cache_config_info"), {})
    return ServerReading(
        engine=engine,
        model=next((sample.labels["model_name"] for sample in samples if "model_name" in sample.labels), None),
        replicas=max(len(values) for values in found.values()),
        running=_total(found.get("running")),
        waiting=_total(found.get("waiting")),
        preemptions=_total(found.get("preemptions")),
        usage=max(found["usage"]) if "usage" in found else None,
        used_tokens=_total(found.get("used_tokens")),
        pool_tokens=_whole(labels.get("kv_cache_size_tokens")) or _one(found.get("pool_tokens")),
        num_blocks=_whole(labels.get("num_gpu_blocks")),
        block_size=_whole(labels.get("block_size")),
        longest_tokens=_one(found.get("longest_tokens")),
    )


def _by_replica(samples: Iterable[Sample]) -> list[float]:
    """One value for each data-parallel replica: tensor-parallel ranks of a replica all say the same."""
    keyed = sorted((_replica(sample), sample.value) for sample in samples)
    return [max(value for _, value in same) for _, same in groupby(keyed, key=lambda pair: pair[0])]


def _replica(sample: Sample) -> str:
    return next((sample.labels[label] for label in REPLICA_LABELS if label in sample.labels), "")


def _total(values: list[float] | None) -> int | None:
    return None if values is None else round(sum(values))


def _one(values: list[float] | None) -> int | None:
    return None if values is None else round(min(values))


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 16 else None
