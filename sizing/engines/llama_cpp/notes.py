"""What is said about how llama.cpp runs a scenario."""

from model_catalog.spec import CrossAttention, ModelSpec
from sizing.engines.llama_cpp.rules import Rules
from sizing.engines.llama_cpp.weights import Held
from sizing.scenario import Scenario


def encoder_note(held: Held) -> str | None:
    return "The projector file (mmproj) is counted; text alone can be served without it." if held.encoder else None


def _split_note(settled: Scenario) -> str:
    gpus = settled.pipeline_parallel
    shares = "by their free memory" if settled.memory_by_gpu else "all are taken as equal"
    shares = shares if settled.tensor_split is None else "in the shares of tensor_split"
    if settled.split_mode == "row":
        return f"Matrices are split by rows over the {gpus} GPUs, and the rest by layers; {shares}."
    return f"llama.cpp gives each of the {gpus} GPUs whole layers; {shares}."


def notes_of(asked: Scenario, settled: Scenario, spec: ModelSpec, rules: Rules) -> list[str]:
    notes = []
    if settled.pipeline_parallel > 1:
        notes.append(_split_note(settled))
    if (settled.gpu_layers or 0) <= spec.num_layers:
        notes.append(
            f"{spec.num_layers + 1 - (settled.gpu_layers or 0)} of {spec.num_layers + 1} layers stay on the host with "
            "their cache."
        )
    if settled.cpu_moe_layers:
        notes.append(
            f"The experts of the first {settled.cpu_moe_layers} layers stay in host memory. The first GPU fetches them "
            "matrix by matrix; of files that join the gate and up matrices twice as much is fetched at once."
        )
    if not settled.kv_offload:
        notes.append("The cache is kept in host memory, the size of which is not known: it sets no limit here.")
    if asked.batch_size == 1 and asked.max_num_seqs is None and rules.streams and not rules.four_slots:
        notes.append(
            "One slot is counted (--parallel 1); where --parallel is not set there are 4, in one unified cache."
        )
    if settled.shared_prefix_tokens:
        notes.append("Slots share no prefix: each stores it again.")
    if any(isinstance(mixer, CrossAttention) for mixer in spec.mixers()):
        notes.append("Keys and values of cross-attention are not cached but computed again at each step.")
    return notes
