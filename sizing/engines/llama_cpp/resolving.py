"""A scenario with llama.cpp's defaults put in, and the caches and weights that follow from it.

A Scenario's words in llama.cpp's: batch_size is the number of sequences, each with a slot (--parallel, or more slots by
max_num_seqs, which stays unset where the slots follow the load); context_length what each stores, so that -c is their
product for a unified cache and slots × padded context for separate streams; max_num_batched_tokens is -b, ubatch_size
-ub. tensor_parallel and pipeline_parallel both count devices, over which layers are split, and by split_mode row their
matrices too.
"""

from dataclasses import dataclass

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec, Recurrent
from sizing.cache_formats import CacheFormats
from sizing.engines.llama_cpp import refusals
from sizing.engines.llama_cpp.builds import Build, build_of
from sizing.engines.llama_cpp.cache import Layout, layout_of
from sizing.engines.llama_cpp.cells import Server
from sizing.engines.llama_cpp.drafts import drafting_of
from sizing.engines.llama_cpp.layers import LayerRules, widest_value
from sizing.engines.llama_cpp.notes import encoder_note, notes_of
from sizing.engines.llama_cpp.row_split import row_split
from sizing.engines.llama_cpp.rules import Rules, rollback_copies, rules_of
from sizing.engines.llama_cpp.split import Offload, Share
from sizing.engines.llama_cpp.weights import Held, Placing, file_type, held_by
from sizing.resolve import notes_on, resolve
from sizing.scenario import Scenario
from sizing.weights.linears import has_experts

LOGICAL_BATCH, PHYSICAL_BATCH = 2048, 512


@dataclass(frozen=True, slots=True)
class Resolved:
    """A scenario with llama.cpp's defaults put in, and what follows from them. `draft`: bytes of what drafts;
    `draft_host`: those of it that stay on the host."""

    scenario: Scenario
    spec: ModelSpec
    rules: Rules
    server: Server
    layout: Layout
    held: Held
    devices: tuple[Share, ...]
    copies: int
    draft: int
    draft_host: int
    types: tuple[str, str]
    notes: tuple[str, ...]

    @property
    def layers(self) -> int:
        return self.spec.num_layers

    @property
    def pipelined(self) -> bool:
        """GPUs that hold all the layers and their cache, and nothing but whole layers (llama-context.cpp)."""
        asked = self.scenario
        whole = asked.split_mode == "layer" and not asked.cpu_moe_layers and bool(asked.kv_offload)
        return whole and len(self.devices) > 1 and (asked.gpu_layers or 0) > self.layers

    @property
    def tokens(self) -> int:
        return self.scenario.context_length or 1

    @property
    def sequences(self) -> int:
        """Those of the fullest data-parallel replica."""
        return fullest_replica(self.scenario)


def fullest_replica(scenario: Scenario) -> int:
    return -(-scenario.batch_size // scenario.data_parallel)


def resolved_of(scenario: Scenario, spec: ModelSpec, accelerator: Accelerator | None = None) -> Resolved:
    """Raises ScenarioError or PlacementError, each naming the field at fault."""
    build = build_of(scenario.engine_version)
    rules = rules_of(build)
    refusals.check(scenario, spec, rules)
    flash = rules.flash_by_default if scenario.flash_attention is None else scenario.flash_attention
    types = refusals.cache_types(scenario, spec, rules, flash)
    file, file_note = file_type(spec, scenario.weights)
    server = _server(scenario, spec, rules, flash)
    settled = _settle(scenario, spec, build, types, file, server)
    drafting = drafting_of(settled, spec)
    placing = _placing(settled, spec, rules, accelerator)
    held = held_by(spec, file, placing)
    offloaded = bool(settled.kv_offload)
    by = _layer_rules(spec, rules, types, flash)
    layout = layout_of(spec, by, placing.devices, placing.host, drafting, offloaded)
    notes = [build.note, file_note, *notes_of(scenario, settled, spec, rules), encoder_note(held)]
    return Resolved(
        scenario=settled,
        spec=spec,
        rules=rules,
        server=server,
        layout=layout,
        held=held,
        devices=placing.devices,
        copies=1 + rollback_copies(spec.model_type, drafting.rolls, rules),
        draft=(held.draft if drafting.layers else 0) + drafting.weights,
        draft_host=(held.draft_host if drafting.layers else 0) + drafting.host,
        types=types,
        notes=(*notes_on(settled, spec, build.text), *(note for note in notes if note), *drafting.notes),
    )


def _server(scenario: Scenario, spec: ModelSpec, rules: Rules, flash: bool) -> Server:
    """An explicit number of slots means separate streams unless -kvu asks for one cache."""
    mixers = list(spec.mixers())
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
    return common.model_copy(
        update={
            "memory_fraction": None,
            "weights": file,
            "tensor_parallel": 1,
            "pipeline_parallel": scenario.tensor_parallel * scenario.pipeline_parallel,
            "max_num_batched_tokens": server.batch,
            "ubatch_size": server.ubatch,
            "kv_unified": server.unified,
            "flash_attention": server.flash,
            "swa_full": server.swa_full,
            "gpu_layers": everything if scenario.gpu_layers is None else min(scenario.gpu_layers, everything),
            "cpu_moe_layers": min(scenario.cpu_moe_layers or 0, everything) if has_experts(spec) else None,
            "split_mode": scenario.split_mode or "layer",
            "kv_offload": scenario.kv_offload is not False,
        }
    )


def _placing(settled: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None) -> Placing:
    """Before #10026 a split by rows left the layers themselves on the first GPU."""
    offload = Offload(spec.num_layers, settled.gpu_layers or 0, rules.output_first)
    count, split = settled.pipeline_parallel, settled.tensor_split or _by_memory(settled)
    by_rows = settled.split_mode == "row" and count > 1
    first_alone = (1.0,) + (0.0,) * (count - 1)
    return Placing(
        devices=tuple(offload.shares(count, first_alone if by_rows and not rules.layers_with_rows else split)),
        host=offload.host,
        cpu_moe=settled.cpu_moe_layers or 0,
        rows=row_split(split or (1.0,) * count, accelerator) if by_rows else None,
        tied_twice=not rules.layers_with_rows,
        projector=settled.media_limits is None,
    )


def _by_memory(settled: Scenario) -> tuple[float, ...] | None:
    """The default shares of GPUs that differ: their free memory, where there is some."""
    sizes = settled.memory_by_gpu
    free = None if sizes is None else tuple(max(0, size - settled.other_memory_bytes) for size in sizes)
    return free if free and any(free) else None


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
