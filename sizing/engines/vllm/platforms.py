"""Accelerators that vLLM runs on with other kernels than those its rules here are of (vllm/platforms)."""

from hardware_catalog.schema import Accelerator

OWN_RULES = frozenset({"NVIDIA", "AMD"})
# Out of vLLM's own tree: a plugin brings the kernels, the memory profile and the cache's layout.
PLUGINS = {
    "AWS": "vllm-neuron",
    "Apple": "vllm-metal",
    "Google": "tpu-inference",
    "Huawei": "vllm-ascend",
}
GAUDI = "vllm-gaudi"


def platform_notes(accelerator: Accelerator | None) -> tuple[str, ...]:
    """Whose rules the figures are by, for accelerators that have others."""
    if accelerator is None or accelerator.vendor in OWN_RULES:
        return ()
    plugin = GAUDI if accelerator.id.startswith("gaudi") else PLUGINS.get(accelerator.vendor)
    how = f"through the plugin {plugin}" if plugin else "with kernels of its own"
    return (f"vLLM runs on {accelerator.name} {how}; the figures are by its rules for CUDA.",)
