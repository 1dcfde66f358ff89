"""Engine `llama.cpp`: resolve the scenario by build, lay the caches out over the devices, budget them, and print."""

from functools import partial

from hardware_catalog.schema import Accelerator, MemoryFigure
from model_catalog.spec import ModelSpec
from sizing.capacity import most_sequences
from sizing.engines.calibration import LLAMA_CPP_COMPUTE_ERROR
from sizing.engines.llama_cpp.cache import DeviceCache
from sizing.engines.llama_cpp.cells import FULL, Law
from sizing.engines.llama_cpp.compute import PIPELINED, Compute, host_bytes
from sizing.engines.llama_cpp.fitting import is_fitted, starting_with
from sizing.engines.llama_cpp.printed import Started, cache_lines, compute_lines, device_names, model_lines
from sizing.engines.llama_cpp.resolving import Resolved, resolved_of
from sizing.engines.llama_cpp.rules import FIT, HOST_INPUTS
from sizing.engines.llama_cpp.split import Share
from sizing.engines.plan import EnginePlan, Printed, RankPlan, pools_of, room_in
from sizing.grading import grades_of
from sizing.memory import UNKNOWN, Memory, reading_notes, size_of
from sizing.report import Host, Log
from sizing.scenario import Scenario
from sizing.units import GIB

MARGIN = GIB  # --fit-target: what is left free on each device


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    resolved = resolved_of(scenario, spec, accelerator)
    memories = _memories(resolved.scenario, accelerator)
    memory = min(memories, key=lambda each: each.total or 0)
    ranks, host = _ranks(resolved, memories), _host(resolved)
    longest = resolved.scenario.max_model_len or 1
    return EnginePlan(
        scenario=resolved.scenario,
        spec=spec,
        ranks=ranks,
        needed_kv_bytes=max(int(rank.cache.kv(longest, 1) + rank.cache.state(longest, 1)) for rank in ranks),
        total_memory=memory.total,
        budget=memory.budget,
        printed=_printed(resolved, ranks, longest),
        log=_log(resolved, spec, ranks, accelerator),
        grades=grades_of(spec, activation="calibrated", graphs="exact"),
        notes=(*resolved.notes, *_host_notes(resolved, host), *memory.notes),
        error_bytes=LLAMA_CPP_COMPUTE_ERROR if scenario.available_kv_bytes is None else 0,
        host=host,
        fallback=partial(_fallback, scenario, spec, accelerator, resolved, ranks),
    )


def _fallback(
    scenario: Scenario,
    spec: ModelSpec,
    accelerator: Accelerator | None,
    resolved: Resolved,
    ranks: tuple[RankPlan, ...],
) -> str | None:
    """Builds since December 2025 find out what fits."""
    if resolved.rules.when < FIT or resolved.rules.wording == "fork" or not is_fitted(scenario, spec):
        return None
    if _fit(resolved, ranks):
        return None
    return starting_with(scenario, spec, lambda asked: plan(asked, spec, accelerator))


def _memories(scenario: Scenario, accelerator: Accelerator | None) -> tuple[Memory, ...]:
    """Of each GPU: everything but what other processes hold and the margin."""
    figure = accelerator.memory_for_budget if accelerator else None
    sizes = scenario.memory_by_gpu or (size_of(scenario, figure),) * scenario.pipeline_parallel
    return tuple(_memory(size, scenario, figure) for size in sizes)


def _memory(total: int | None, scenario: Scenario, figure: MemoryFigure | None) -> Memory:
    if total is None:
        return UNKNOWN
    margin = "llama.cpp leaves a margin of 1 GiB on each GPU; the driver's own context is not counted."
    notes = (margin, *reading_notes(scenario, figure))
    return Memory(total, max(0, total - scenario.other_memory_bytes - MARGIN), notes)


def _ranks(resolved: Resolved, memories: tuple[Memory, ...]) -> tuple[RankPlan, ...]:
    each = enumerate(zip(resolved.devices, memories, strict=True))
    return tuple(_rank(resolved, memory, index, share) for index, (share, memory) in each)


def _rank(resolved: Resolved, memory: Memory, index: int, share: Share) -> RankPlan:
    """`usable` is all beside the weights: the compute buffer grows with the context, so a load needs it as well."""
    held, compute = resolved.held, _compute(resolved, index)
    draft = resolved.draft if share.output else 0
    encoder = held.encoder if index == 0 else 0
    activation = int(compute.bytes(resolved.tokens, resolved.sequences))
    given = resolved.scenario.available_kv_bytes
    room = None if memory.budget is None else memory.budget - held.devices[index] - draft - encoder
    left = None if room is None else room - activation
    return RankPlan(
        weights=held.devices[index],
        draft=draft,
        encoder=encoder,
        activation=activation,
        cache=DeviceCache(
            resolved.layout.devices[index], resolved.server, resolved.copies, compute if given is None else None
        ),
        available=left if given is None else given,
        usable=room if given is None else given,
        memory=_own(memory) if resolved.scenario.memory_by_gpu else None,
    )


def _own(memory: Memory) -> tuple[int, int]:
    assert memory.total is not None
    assert memory.budget is not None
    return memory.total, memory.budget


def _compute(resolved: Resolved, index: int) -> Compute:
    """Of one device; the first fetches what stays on the host, in the mainline at least."""
    fetches = index == 0 and resolved.rules.wording != "fork"
    return Compute(
        resolved.layout.widths,
        resolved.server,
        resolved.devices[index].output,
        attention=bool(resolved.scenario.kv_offload),
        copies=PIPELINED if resolved.pipelined else 1,
        staged=resolved.held.largest if fetches else 0,
    )


def _host(resolved: Resolved) -> Host:
    """The input embedding in any case; layers, experts and caches by -ngl, --n-cpu-moe and --no-kv-offload."""
    cache = DeviceCache(resolved.layout.host, resolved.server, resolved.copies, None)
    load = resolved.tokens, resolved.sequences
    drafted = resolved.draft_host
    return Host(
        weights_bytes=resolved.held.host + drafted,
        kv_bytes=int(cache.kv(*load)),
        state_bytes=int(cache.state(*load)),
    )


def _host_notes(resolved: Resolved, host: Host) -> list[str]:
    """Where more is left on the host than the input embedding."""
    scenario = resolved.scenario
    if (scenario.gpu_layers or 0) > resolved.layers and not scenario.cpu_moe_layers and scenario.kv_offload:
        return []
    cache = host.kv_bytes + host.state_bytes
    beside = f" and {_sized(cache)} of cache" if cache else ""
    return [f"Host memory holds {_sized(host.weights_bytes)} of weights{beside}."]


def _sized(size: int) -> str:
    return f"{size / GIB:.2f} GiB ({size / 1e9:.2f} GB)"


def _fit(resolved: Resolved, ranks: tuple[RankPlan, ...]) -> bool:
    """Whether the load fits every device; True where no memory is known."""
    load = resolved.tokens, resolved.sequences
    return all(rank.usable is None or rank.cache.need(*load) <= rank.usable for rank in ranks)


def _printed(resolved: Resolved, ranks: tuple[RankPlan, ...], longest: int) -> Printed:
    """Cells of all streams; and how many slots of the longest length would fit."""
    cells = None
    if resolved.layout.whole.rows:
        cells = int(resolved.server.all_cells(_widest_law(resolved), resolved.tokens, resolved.sequences))

    pools = pools_of(ranks)
    most = most_sequences(lambda sequences: room_in(pools, longest, sequences)) if pools else None
    return Printed(kv_tokens=cells, max_concurrency=None if most is None else float(most))


def _widest_law(resolved: Resolved) -> Law:
    laws = [rows.law for rows in resolved.layout.whole.rows]
    return FULL if FULL in laws or not laws else max(laws, key=lambda law: (law.kind == "window", law.size))


def _host_inputs(resolved: Resolved, ranks: tuple[RankPlan, ...]) -> int | None:
    if resolved.rules.when >= HOST_INPUTS:
        return None
    return host_bytes(Compute(resolved.layout.widths, resolved.server, True), resolved.tokens, resolved.sequences)


def _log(resolved: Resolved, spec: ModelSpec, ranks: tuple[RankPlan, ...], accelerator: Accelerator | None) -> Log:
    held = resolved.held
    names = device_names(accelerator.vendor if accelerator else None, len(ranks))
    started = Started(
        server=resolved.server,
        layout=resolved.layout,
        key=resolved.types[0],
        value=resolved.types[1],
        copies=resolved.copies,
        layers=spec.num_layers,
        tokens=resolved.tokens,
        sequences=resolved.sequences,
    )
    lines = (
        *model_lines(resolved.rules, names, held),
        *cache_lines(started, names),
        *compute_lines(resolved.rules, names, [rank.activation for rank in ranks], _host_inputs(resolved, ranks)),
    )
    return Log(model_loading_bytes=held.devices[0], lines=lines)
