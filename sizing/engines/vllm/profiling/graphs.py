"""CUDA graphs: how many vLLM captures, and its estimate of their memory (profile_cudagraph_memory)."""

from math import ceil

from hardware_catalog.schema import Accelerator
from model_catalog.spec import ModelSpec
from sizing.engines.calibration import VllmConstants
from sizing.engines.vllm.defaults import capability_of, is_linked
from sizing.engines.vllm.rules import Rules
from sizing.engines.vllm.runner import uses_second_runner
from sizing.scenario import Scenario

LARGEST, LARGEST_SM100 = 512, 1024  # tokens of a captured batch
FINE = 256  # below it every eighth size is captured, from it on every sixteenth


def estimate_bytes(
    scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None, constants: VllmConstants
) -> int:
    """What vLLM estimates and takes out of the budget on each rank."""
    graphs = graphs_estimated(scenario, spec, rules, accelerator)
    first = not uses_second_runner(scenario, spec, rules.profile)
    peers = scenario.tensor_parallel - 1 if first and reduces_by_nccl(scenario, accelerator) else 0
    return graphs * (layers_of(scenario, spec) * constants.graph + peers * constants.graph_peer)


def layers_of(scenario: Scenario, spec: ModelSpec) -> int:
    """Of the largest stage of a pipeline."""
    return ceil(spec.num_layers / scenario.pipeline_parallel)


def reduces_by_nccl(scenario: Scenario, accelerator: Accelerator | None) -> bool:
    """Whether the graphs hold NCCL's kernels: vLLM's own all-reduce is for two ranks, or for ranks on fast links.

    Source: vllm/distributed/device_communicators/custom_all_reduce.py.
    """
    return scenario.tensor_parallel > 2 and not is_linked(accelerator)


def graphs_estimated(scenario: Scenario, spec: ModelSpec, rules: Rules, accelerator: Accelerator | None) -> int:
    """Graphs whose memory vLLM estimates and takes out of the budget."""
    amd = accelerator is not None and accelerator.vendor == "AMD"
    if scenario.enforce_eager or not (rules.profiles_amd_graphs if amd else rules.profiles_graphs):
        return 0
    if rules.profile.second_runner != "all" and uses_second_runner(scenario, spec, rules.profile):
        return 0  # profile_cudagraph_memory of v1/worker/gpu/model_runner.py gives 0 up to 0.28.0
    return graphs_captured(scenario, capability_of(accelerator))


def captures(scenario: Scenario, spec: ModelSpec, rules: Rules) -> bool:
    """Whether graphs captured while memory outside of PyTorch is counted leave some there.

    Stages of a pipeline show none: 0.07 GiB outside of PyTorch with 0.19.0 on H100, two stages and four.
    """
    first = scenario.pipeline_parallel == 1 and not uses_second_runner(scenario, spec, rules.profile)
    return rules.profile.captures and first and not scenario.enforce_eager


def graphs_captured(scenario: Scenario, capability: tuple[int, int]) -> int:
    """In pieces for batches of each size, whole for decoding."""
    drafted = scenario.speculative.tokens if scenario.speculative else 0
    decoded = (scenario.max_num_seqs or 1) * (1 + drafted)
    most = LARGEST_SM100 if capability[0] == 10 else LARGEST
    largest = min(2 * decoded, most, scenario.max_num_batched_tokens or 1)
    return sizes_up_to(largest) + sizes_up_to(min(largest, decoded))


def sizes_up_to(largest: int) -> int:
    """1, 2, 4, then every eighth, from 256 on every sixteenth (_set_cudagraph_sizes in vllm/config/vllm.py)."""
    small = sum(size <= largest for size in (1, 2, 4))
    return small + min(largest, FINE - 1) // 8 + max(0, (largest - FINE) // 16 + 1)
