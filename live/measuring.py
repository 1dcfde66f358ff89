"""A run as a generator of measurements: prefill, then token by token, each with bytes and seconds. Needs torch.

Every step is timed around the forward pass alone, with the device synchronised on both sides. What is read afterwards
(cache tensors, allocator, driver) is not in the time.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import Any

import torch
from transformers import StaticCache

from live.cache_tensors import cache_tensors
from live.device import (
    choose_device,
    describe,
    free_bytes,
    is_out_of_memory,
    limit_memory,
    read_memory,
    release,
    synchronize,
)
from live.dry_run import parameter_count
from live.loading import config_of, load_model
from live.memory import Need, need_of
from live.prediction import Predicted
from live.receipts import Device, DeviceKind, Finding, Padding, Recompute, Run, Settings
from model_catalog.importers import read_config

RECOMPUTE_POINTS = 8
WARM_UP_TOKENS = 8
REPEATS = 2
PADDING_ROWS = 4


class NoRoom(ValueError):
    """There is less free memory than the run needs."""


@dataclass(frozen=True)
class Progress:
    """What a run tells while it goes: where it is, and the run as measured so far."""

    text: str
    run: Run | None = None
    device: Device | None = None


@dataclass
class _Bench:
    """A loaded model on its device."""

    settings: Settings
    device: DeviceKind
    model: Any
    should_stop: Callable[[], bool]
    deadline: float
    run: Run
    last_only: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        names = inspect.signature(self.model.forward).parameters
        self.last_only = {"logits_to_keep": 1} if "logits_to_keep" in names else {}

    def ids(self, batch: int, length: int) -> torch.Tensor:
        vocabulary = self.model.config.get_text_config(decoder=True).vocab_size
        return torch.randint(0, vocabulary, (batch, length), device=self.device)

    def forward(self, ids: torch.Tensor, **more: Any) -> tuple[Any, float]:
        """(output, seconds) of one pass."""
        synchronize(self.device)
        start = perf_counter()
        output = self.model(input_ids=ids, **self.last_only, **more)
        synchronize(self.device)
        return output, perf_counter() - start

    def new_cache(self) -> Any:
        """None lets the model make its own DynamicCache."""
        if self.settings.cache == "dynamic":
            return None
        return StaticCache(config=self.model.config, max_cache_len=self.settings.max_tokens)

    def ended(self, tokens: int) -> Finding | None:
        if self.should_stop():
            return Finding(kind="stopped", tokens=tokens, message=f"Stopped after {tokens:,} tokens.")
        if monotonic() > self.deadline:
            limit = f"{self.settings.seconds_limit:,.0f} s"
            return Finding(
                kind="time_limit", tokens=tokens, message=f"The limit of {limit} was reached at {tokens:,} tokens."
            )
        return None


def measure(settings: Settings, should_stop: Callable[[], bool] = lambda: False) -> Iterator[Progress]:
    """Yields progress; the last one holds the finished run, which may have ended with a finding.

    Raises CannotLoad, NoDevice, NoRoom, ConfigError or ScenarioError, each with a sentence, before anything is run.
    """
    deadline = monotonic() + settings.seconds_limit
    device = choose_device(settings.device)
    yield Progress("Reading the config", device=describe(device))
    config, folder = config_of(settings)
    predicted = Predicted(read_config(config), settings)
    check_room(need_of(predicted), device)
    yield Progress("Loading the model")
    model = load_model(config, folder, settings.dtype, device)
    parameters, weight_bytes = parameter_count(model)
    run = Run(settings=settings, config=config, parameters=parameters, weight_bytes=weight_bytes)
    bench = _Bench(settings, device, model, should_stop, deadline, run)
    del model
    yield from _measured(bench)
    del bench
    run.released = release(device)
    yield Progress("Done", run=run)


def check_room(need: Need, device: DeviceKind) -> None:
    free = free_bytes(device)
    if free is not None and need.total > free:
        raise NoRoom(
            f"The run needs about {need.total / 2**30:,.2f} GiB ({need.weights / 2**30:,.2f} weights, "
            f"{need.cache / 2**30:,.2f} cache, {need.working / 2**30:,.2f} working memory), and "
            f"{free / 2**30:,.2f} GiB are free. Fewer requests or tokens need less."
        )


def _measured(bench: _Bench) -> Iterator[Progress]:
    """Every part in turn; a part that runs out of memory or time ends the run with a finding."""
    with torch.inference_mode():
        _warm_up(bench)
        bench.run.before = release(bench.device)
        if bench.settings.memory_limit is not None:
            limit_memory(bench.device, bench.settings.memory_limit)
        try:
            yield from _grow(bench)
            if bench.settings.recompute and not bench.run.finding:
                yield from _recompute(bench)
            if bench.settings.padding and not bench.run.finding:
                yield Progress("Padding a batch of mixed lengths", run=bench.run)
                bench.run.padding = _padding(bench)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            bench.run.finding = _out_of_memory(bench)


def _warm_up(bench: _Bench) -> None:
    """The first pass loads kernels; it is not a measurement."""
    bench.forward(bench.ids(bench.settings.batch, min(WARM_UP_TOKENS, bench.settings.prompt_tokens)), use_cache=True)


def _grow(bench: _Bench) -> Iterator[Progress]:
    settings, steps = bench.settings, bench.run.steps
    yield Progress(f"Prefilling {settings.batch} × {settings.prompt_tokens:,} tokens", run=bench.run)
    ids, cache = bench.ids(settings.batch, settings.prompt_tokens), bench.new_cache()
    for tokens in range(settings.prompt_tokens, settings.max_tokens + 1):
        output, seconds = bench.forward(ids, cache=cache, use_cache=True)
        cache = output.cache
        ids = output.logits[:, -1:].argmax(-1)
        del output
        held = list(cache_tensors(cache, "cache"))
        shown, stored = sum(each.bytes for each in held), sum(each.storage_bytes for each in held)
        steps.add(tokens, shown, stored, read_memory(bench.device), seconds)
        bench.run.finding = bench.ended(tokens)
        if bench.run.finding:
            return
        yield Progress(f"Decoding: {tokens:,} of {settings.max_tokens:,} tokens", run=bench.run)


def _recompute(bench: _Bench) -> Iterator[Progress]:
    """The same positions without a cache: each token takes the whole sequence again."""
    settings = bench.settings
    bench.run.recompute = Recompute()
    points = min(RECOMPUTE_POINTS, settings.new_tokens + 1)
    for index in range(points):
        tokens = settings.prompt_tokens + index * settings.new_tokens // max(1, points - 1)
        yield Progress(f"Without a cache: {tokens:,} tokens again", run=bench.run)
        ids = bench.ids(settings.batch, tokens)
        seconds = min(bench.forward(ids, use_cache=False)[1] for _ in range(REPEATS))
        bench.run.recompute.tokens.append(tokens)
        bench.run.recompute.seconds.append(round(seconds, 7))
        bench.run.finding = bench.ended(tokens)
        if bench.run.finding:
            return


def _padding(bench: _Bench) -> Padding:
    """Prompts of the full, half, quarter and eighth length in one batch, padded on the left."""
    longest = bench.settings.prompt_tokens
    rows = max(bench.settings.batch, PADDING_ROWS)
    lengths = [max(1, longest >> (row % PADDING_ROWS)) for row in range(rows)]
    mask = torch.tensor([[0] * (longest - length) + [1] * length for length in lengths], device=bench.device)
    padded_bytes, padded_seconds = _prefill(bench, rows, longest, attention_mask=mask)
    alone = {length: _prefill(bench, 1, length)[0] for length in set(lengths)}
    _, even_seconds = _prefill(bench, rows, -(-sum(lengths) // rows))
    return Padding(
        lengths=lengths,
        padded_bytes=padded_bytes,
        alone_bytes=sum(alone[length] for length in lengths),
        padded_seconds=round(padded_seconds, 7),
        even_seconds=round(even_seconds, 7),
    )


def _prefill(bench: _Bench, rows: int, length: int, **more: Any) -> tuple[int, float]:
    """(bytes of the cache, seconds of the quicker of two passes)."""
    seconds, size = [], 0
    for _ in range(REPEATS):
        output, took = bench.forward(bench.ids(rows, length), use_cache=True, **more)
        size = sum(each.bytes for each in cache_tensors(output.cache, "cache"))
        seconds.append(took)
    return size, min(seconds)


def _out_of_memory(bench: _Bench) -> Finding:
    reached = bench.run.steps.tokens[-1] if bench.run.steps.tokens else None
    limit = bench.settings.memory_limit
    within = f" within the {limit / 2**20:,.0f} MiB that were allowed" if limit else ""
    where = f"after {reached:,} tokens" if reached else f"in the prefill of {bench.settings.prompt_tokens:,} tokens"
    return Finding(kind="out_of_memory", tokens=reached, message=f"Out of memory {where}{within}.")
