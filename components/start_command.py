"""The command line that starts the engine with a scenario, with no flag that says what it would do anyway."""

from collections.abc import Mapping

from components.choices import weights_label
from components.start_flags import LONG_NAMES, Flags, starts
from components.start_llama_cpp import start_llama_cpp
from components.start_sglang import start_sglang
from components.start_tensorrt_llm import start_tensorrt_llm
from components.start_vllm import start_vllm
from sizing.engines.plan import EnginePlan
from sizing.engines.vllm.rules import release_of
from sizing.scenario import Scenario
from sizing.versions import at_least
from sizing.weights.precisions import GGUF

# vllm/model_executor/layers/quantization/__init__.py of 0.8.5 to 0.33.0: from a release on, newest first.
VLLM_LOADS = {
    "0.28.0": {"fp8": "fp8_per_channel", "fp8-block": "fp8_per_block", "int8": "int8_per_channel_weight_only"},
    "0.24.0": {"fp8": "fp8_per_channel", "fp8-block": "fp8_per_block", "bnb-nf4": "bitsandbytes"},
    "0.20.0": {"fp8": "fp8_per_tensor", "fp8-block": "fp8_per_block", "bnb-nf4": "bitsandbytes"},
    "0": {"fp8": "fp8", "bnb-nf4": "bitsandbytes"},
}


def start_command(asked: Scenario, planned: EnginePlan) -> str | None:
    """Ready to paste into a shell; None for what is no server. `planned` is the plan of `asked`."""
    match asked.engine:
        case "vllm":
            return start_vllm(asked, planned, _loaded_as(asked, planned))
        case "sglang":
            return start_sglang(asked, planned, _loaded_as(asked, planned))
        case "llama.cpp":
            return start_llama_cpp(asked, planned)
        case "tensorrt-llm":
            return start_tensorrt_llm(asked, planned)
        case _:
            return None


def start_notes(asked: Scenario, planned: EnginePlan) -> list[str]:
    """What the command takes for granted."""
    notes = []
    stored = planned.spec.quantization is not None
    if asked.engine == "llama.cpp":
        notes.append("The file is the model converted to GGUF; all GPUs that are visible are used.")
    elif asked.weights not in ("auto", *LONG_NAMES) and (stored or asked.weights not in _loads(planned)):
        notes.append(f"Put a checkpoint in {weights_label(asked.weights)} in the place of {asked.model}.")
    drafter = asked.speculative
    if asked.engine != "llama.cpp" and drafter and drafter.model and drafter.weights:
        notes.append(f"Put a checkpoint in {weights_label(drafter.weights)} in the place of {drafter.model}.")
    notes += _without_loader(planned) if asked.engine == "vllm" else []
    if asked.engine == "vllm" and not starts(planned):
        longest = planned.scenario.max_model_len or 0
        notes.append(f"With max_model_len {longest:,} this does not start: not one request of that length fits.")
    return notes


def _without_loader(planned: EnginePlan) -> list[str]:
    """Formats of files that vLLM once read (quantization/__init__.py of 0.23.0 to 0.28.0)."""
    scenario = planned.scenario
    name, gone = ("GGUF", "0.24.0") if scenario.weights in GGUF else ("bitsandbytes", "0.28.0")
    read = scenario.weights in GGUF or scenario.weights.startswith("bnb-")
    if not read or not at_least(release_of(scenario.engine_version)[1], gone):
        return []
    return [f"vLLM reads no {name} checkpoints from {gone} on."]


def _loads(planned: EnginePlan) -> Mapping[str, str]:
    """Precisions that the engine makes of a 16-bit checkpoint while it loads it, and its own word for each."""
    scenario = planned.scenario
    if scenario.engine != "vllm":
        return {"fp8": "fp8"} if scenario.engine == "sglang" else {}
    version = release_of(scenario.engine_version)[1]
    return next(found for since, found in VLLM_LOADS.items() if at_least(version, since))


def _loaded_as(asked: Scenario, planned: EnginePlan) -> Flags:
    made = _loads(planned)
    if planned.spec.quantization is None and asked.weights in made:
        yield "--quantization", made[asked.weights]
    elif asked.weights in LONG_NAMES and asked.weights != planned.spec.dtype:
        yield "--dtype", LONG_NAMES[asked.weights]
