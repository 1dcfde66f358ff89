"""A scenario with llama.cpp's defaults put in, and the caches and weights that follow from it.

A Scenario's words in llama.cpp's: batch_size is the number of sequences, each with a slot (--parallel, or more slots by
max_num_seqs); context_length what each stores, so that -c is their product for a unified cache and slots × padded
context for separate streams; max_num_batched_tokens is -b, ubatch_size -ub. tensor_parallel and pipeline_parallel both
count devices, over which layers are split: llama.cpp's default split mode knows no other way.
"""

from dataclasses import dataclass

from model_catalog.spec import CrossAttention, Mixer, ModelSpec, Recurrent
from sizing.cache_formats import CacheFormats
from sizing.engines.llama_cpp import refusals
from sizing.engines.llama_cpp.builds import Build, build_of
from sizing.engines.llama_cpp.cache import Layout, layout_of
from sizing.engines.llama_cpp.cells import Server
from sizing.engines.llama_cpp.layers import LayerRules, widest_value
from sizing.engines.llama_cpp.rules import Rules, rollback_copies, rules_of
from sizing.engines.llama_cpp.split import Share, on_host, shares
from sizing.engines.llama_cpp.weights import Held, file_type, held_by
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario

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

    @property
    def tokens(self) -> int:
        return self.scenario.context_length or 1

    @property
    def sequences(self) -> int:
        """Those of the fullest data-parallel replica."""
        return fullest_replica(self.scenario)


def fullest_replica(scenario: Scenario) -> int:
    return -(-scenario.batch_size // scenario.data_parallel)


def resolved_of(scenario: Scenario, spec: ModelSpec) -> Resolved:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    build = build_of(scenario.engine_version)
    rules = rules_of(build)
    refusals.check(scenario, spec, rules)
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
    notes = [build.note, file_note, *_notes(scenario, settled, spec, rules), _encoder_note(held)]
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
        slots=_slots_beyond(scenario),
        unified=not rules.streams or bool(scenario.kv_unified),
        flash=flash,
        batch=batch,
        ubatch=min(scenario.ubatch_size or PHYSICAL_BATCH, batch),
        swa_full=bool(scenario.swa_full),
        whole=rules.streams and rules.whole_streams and 0 < states < len(mixers),
    )


def _slots_beyond(scenario: Scenario) -> int:
    """Slots that are there whatever the load; 1 where each sequence asked about has one and no more are wanted."""
    slots = scenario.max_num_seqs or 1
    return slots if slots > fullest_replica(scenario) else 1


def _settle(
    scenario: Scenario, spec: ModelSpec, build: Build, types: tuple[str, str], file: str, server: Server
) -> Scenario:
    """The scenario with llama.cpp's defaults; all devices as stages of a pipeline."""
    common = resolve(scenario, spec, CacheFormats(*types), version=build.text, fraction=1)
    everything = spec.num_layers + 1
    return common.model_copy(
        update={
            "memory_fraction": None,
            "weights": file,
            "tensor_parallel": 1,
            "pipeline_parallel": scenario.tensor_parallel * scenario.pipeline_parallel,
            "max_num_seqs": max(scenario.max_num_seqs or 1, fullest_replica(scenario)),
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
        windows=rules.windows,
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


def _encoder_note(held: Held) -> str | None:
    return "The projector file (mmproj) is counted; text alone can be served without it." if held.encoder else None


def _notes(asked: Scenario, settled: Scenario, spec: ModelSpec, rules: Rules) -> list[str]:
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
