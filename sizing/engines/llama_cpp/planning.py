"""Engine `llama.cpp`: resolve the scenario by build, split the layers over the devices, lay the caches out, and print.

A Scenario's words in llama.cpp's: batch_size is the number of sequences, each with a slot (--parallel, or more slots by
max_num_seqs); context_length what each stores, so that -c is their product for a unified cache and slots × padded
context for separate streams; max_num_batched_tokens is -b, ubatch_size -ub. tensor_parallel and pipeline_parallel both
count devices, over which layers are split: llama.cpp's default split mode knows no other way.
"""

from dataclasses import dataclass

from hardware_catalog.schema import Accelerator
from model_catalog.spec import CrossAttention, Mixer, ModelSpec, Recurrent
from sizing.cache_formats import CacheFormats
from sizing.capacity import most_sequences
from sizing.engines.llama_cpp import refusals
from sizing.engines.llama_cpp.builds import Build, build_of
from sizing.engines.llama_cpp.cache import DeviceCache, Layout, layout_of
from sizing.engines.llama_cpp.cells import FULL, Law, Server
from sizing.engines.llama_cpp.compute import Compute, widths_of
from sizing.engines.llama_cpp.layers import LayerRules, widest_value
from sizing.engines.llama_cpp.printed import Started, cache_lines, compute_lines, device_names, model_lines
from sizing.engines.llama_cpp.rules import Rules, rollback_copies, rules_of
from sizing.engines.llama_cpp.split import Share, on_host, shares
from sizing.engines.llama_cpp.weights import Held, file_type, held_by
from sizing.engines.plan import EnginePlan, Printed, RankPlan
from sizing.grading import grades_of
from sizing.memory import Memory
from sizing.report import Log
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario

MARGIN = 2**30  # --fit-target: what is left free on each device
LOGICAL_BATCH, PHYSICAL_BATCH = 2048, 512
ROLLING = ("mtp", "eagle3", "dflash", "dspark")
PREDICTION = "multi-token prediction"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scenario with llama.cpp's defaults put in, and what follows from them."""

    scenario: Scenario
    rules: Rules
    server: Server
    layout: Layout
    held: Held
    devices: tuple[Share, ...]
    copies: int
    drafts: int
    types: tuple[str, str]
    notes: tuple[str, ...]


def plan(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None) -> EnginePlan:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    resolved = _resolve(scenario, spec)
    memory = _memory(resolved.scenario, accelerator)
    ranks = _ranks(resolved, spec, memory)
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
        notes=(*resolved.notes, *memory.notes),
    )


def _resolve(scenario: Scenario, spec: ModelSpec) -> Resolved:
    build = build_of(scenario.engine_version)
    rules = rules_of(build)
    refusals.check(scenario, rules)
    flash = rules.flash_by_default if scenario.flash_attention is None else scenario.flash_attention
    types = refusals.cache_types(scenario, spec, rules, flash)
    file, file_note = file_type(spec, scenario.weights)
    server = _server(scenario, spec, rules, flash)
    settled = _settle(scenario, spec, build, types, file, server)
    drafted = _drafted(settled)
    devices = tuple(shares(spec.num_layers, settled.gpu_layers or 0, settled.pipeline_parallel))
    host = on_host(spec.num_layers, settled.gpu_layers or 0)
    drafts = _draft_layers(settled, spec)
    held = held_by(spec, file, devices, host)
    layout = layout_of(spec, _layer_rules(spec, rules, types, flash), devices, host, drafts)
    notes = [build.note, file_note, *_notes(scenario, settled, spec, rules, held, layout, server)]
    return Resolved(
        scenario=settled,
        rules=rules,
        server=server,
        layout=layout,
        held=held,
        devices=devices,
        copies=1 + rollback_copies(spec.model_type, drafted, rules),
        drafts=drafts,
        types=types,
        notes=(*notes_on(settled, spec, build.text), *(note for note in notes if note)),
    )


def _mixers(spec: ModelSpec) -> list[Mixer]:
    return [mixer for run in spec.layers for mixer in run.layer.mixers]


def _server(scenario: Scenario, spec: ModelSpec, rules: Rules, flash: bool) -> Server:
    """An explicit number of slots means separate streams unless -kvu asks for one cache."""
    mixers = _mixers(spec)
    states = sum(isinstance(mixer, Recurrent) for mixer in mixers)
    batch = scenario.max_num_batched_tokens or LOGICAL_BATCH
    return Server(
        rules=rules,
        slots=scenario.max_num_seqs or 1,
        unified=not rules.streams or bool(scenario.kv_unified),
        flash=flash,
        batch=batch,
        ubatch=min(scenario.ubatch_size or PHYSICAL_BATCH, batch),
        swa_full=bool(scenario.swa_full),
        whole=rules.streams and rules.whole_streams and 0 < states < len(mixers),
    )


def _settle(
    scenario: Scenario, spec: ModelSpec, build: Build, types: tuple[str, str], file: str, server: Server
) -> Scenario:
    """The scenario with llama.cpp's defaults; all devices as stages of a pipeline."""
    common = resolve(scenario, spec, CacheFormats(*types), version=build.text, fraction=1)
    everything = spec.num_layers + 1
    replica = -(-scenario.batch_size // scenario.data_parallel)
    return common.model_copy(
        update={
            "memory_fraction": None,
            "weights": file,
            "tensor_parallel": 1,
            "pipeline_parallel": scenario.tensor_parallel * scenario.pipeline_parallel,
            "max_num_seqs": int(server.slots_for(replica)),
            "max_num_batched_tokens": server.batch,
            "ubatch_size": server.ubatch,
            "kv_unified": server.unified,
            "flash_attention": server.flash,
            "swa_full": server.swa_full,
            "gpu_layers": everything if scenario.gpu_layers is None else min(scenario.gpu_layers, everything),
        }
    )


def _layer_rules(spec: ModelSpec, rules: Rules, types: tuple[str, str], flash: bool) -> LayerRules:
    latent = "latent" if flash and rules.latent == "transposed" else rules.latent
    return LayerRules(
        key=types[0],
        value=types[1],
        latent=latent,
        widest_value=0 if flash else widest_value(spec),
        plain_windows=rules.plain_windows,
        values_in_indexer=spec.model_type.startswith("minimax"),
    )


def _drafted(scenario: Scenario) -> int:
    """Tokens of a draft that rolls recurrent state back."""
    draft = scenario.speculative
    if draft is None:
        return 0
    method = draft.method.lower().replace("-", "").replace("_", "")
    return draft.tokens if any(name in method for name in ROLLING) else 0


def _drafts_itself(scenario: Scenario) -> bool:
    return scenario.speculative is not None and "mtp" in scenario.speculative.method.lower()


def _draft_layers(scenario: Scenario, spec: ModelSpec) -> int:
    if not _drafts_itself(scenario):
        return 0
    return max((tower.layers for tower in spec.towers if tower.name == PREDICTION), default=1) or 1


def _memory(scenario: Scenario, accelerator: Accelerator | None) -> Memory:
    """Everything but what other processes hold and the margin."""
    figure = accelerator.memory_for_budget if accelerator else None
    total = scenario.total_memory_bytes or (figure.bytes if figure else None)
    if total is None:
        return Memory(None, None, ("No memory size is known, so nothing is said about what fits.",))
    notes = ["llama.cpp leaves a margin of 1 GiB on each GPU; the driver's own context is not counted."]
    if scenario.total_memory_bytes is None and figure and figure.grade != "exact":
        notes.append(f"The accelerator's memory is not a reading: {figure.source}")
    return Memory(total, max(0, total - scenario.other_memory_bytes - MARGIN), tuple(notes))


def _ranks(resolved: Resolved, spec: ModelSpec, memory: Memory) -> tuple[RankPlan, ...]:
    windows = {rows.law for rows in resolved.layout.whole.rows if rows.law.kind in ("window", "raw")}
    widths = widths_of(spec, tuple(sorted(windows, key=lambda law: law.size)))
    return tuple(
        _rank(resolved, memory, index, share, Compute(widths, resolved.server, share.output))
        for index, share in enumerate(resolved.devices)
    )


def _rank(resolved: Resolved, memory: Memory, index: int, share: Share, compute: Compute) -> RankPlan:
    """`usable` is all beside the weights: the compute buffer grows with the context, so a load needs it as well."""
    scenario, held = resolved.scenario, resolved.held
    draft = held.draft if share.output and resolved.drafts else 0
    encoder = held.encoder if index == 0 else 0
    tokens, replica = scenario.context_length or 1, -(-scenario.batch_size // scenario.data_parallel)
    activation = int(compute.bytes(tokens, replica))
    given = scenario.available_kv_bytes
    room = None if memory.budget is None else memory.budget - held.devices[index] - draft - encoder
    return RankPlan(
        weights=held.devices[index],
        draft=draft,
        encoder=encoder,
        activation=activation,
        cache=DeviceCache(
            resolved.layout.devices[index], resolved.server, resolved.copies, compute if given is None else None
        ),
        available=given if given is not None else None if room is None else room - activation,
        usable=room if given is None else given,
    )


def _printed(resolved: Resolved, ranks: tuple[RankPlan, ...], longest: int) -> Printed:
    """Cells of all streams; and how many slots of the longest length would fit."""
    scenario = resolved.scenario
    tokens, replica = scenario.context_length or 1, -(-scenario.batch_size // scenario.data_parallel)
    cells = (
        int(resolved.server.all_cells(_widest_law(resolved), tokens, replica)) if resolved.layout.whole.rows else None
    )

    def fits(sequences: int) -> bool:
        return all(rank.usable is not None and rank.cache.need(longest, sequences) <= rank.usable for rank in ranks)

    known = all(rank.usable is not None for rank in ranks)
    most = most_sequences(fits) if known else None
    return Printed(kv_tokens=cells, max_concurrency=None if most is None else float(most))


def _widest_law(resolved: Resolved) -> Law:
    laws = [rows.law for rows in resolved.layout.whole.rows]
    return FULL if FULL in laws or not laws else max(laws, key=lambda law: (law.kind == "window", law.size))


def _log(resolved: Resolved, spec: ModelSpec, ranks: tuple[RankPlan, ...], accelerator: Accelerator | None) -> Log:
    scenario, held = resolved.scenario, resolved.held
    names = device_names(accelerator.vendor if accelerator else None, len(ranks))
    started = Started(
        server=resolved.server,
        whole=resolved.layout.whole,
        key=resolved.types[0],
        value=resolved.types[1],
        copies=resolved.copies,
        layers=spec.num_layers,
        tokens=scenario.context_length or 1,
        sequences=-(-scenario.batch_size // scenario.data_parallel),
    )
    lines = (
        *model_lines(resolved.rules, names, held.devices, held.host),
        *cache_lines(started),
        *compute_lines(resolved.rules, names, [rank.activation for rank in ranks]),
    )
    return Log(model_loading_bytes=held.devices[0], lines=lines)


def _notes(
    asked: Scenario, settled: Scenario, spec: ModelSpec, rules: Rules, held: Held, layout: Layout, server: Server
) -> list[str]:
    notes = []
    if settled.pipeline_parallel > 1:
        notes.append(
            f"llama.cpp gives each of the {settled.pipeline_parallel} GPUs whole layers; all are taken as equal."
        )
    if (settled.gpu_layers or 0) <= spec.num_layers:
        notes.append(
            f"{spec.num_layers + 1 - (settled.gpu_layers or 0)} of {spec.num_layers + 1} layers stay on the host with "
            "their cache."
        )
    if held.encoder:
        notes.append("The projector file (mmproj) is counted; text alone can be served without it.")
    if asked.batch_size == 1 and asked.max_num_seqs is None and rules.streams and not rules.four_slots:
        notes.append(
            "One slot is counted (--parallel 1); where --parallel is not set there are 4, in one unified cache."
        )
    if settled.shared_prefix_tokens:
        notes.append("Slots share no prefix: each stores it again.")
    if any(isinstance(mixer, CrossAttention) for mixer in _mixers(spec)):
        notes.append("Keys and values of cross-attention are not cached but computed again at each step.")
    if settled.speculative and not _drafts_itself(settled):
        notes.append("The weights and the cache of a draft model are not counted.")
    return notes
