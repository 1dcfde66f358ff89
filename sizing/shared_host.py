"""What stays in host memory, on machines whose CPU and GPU share theirs: it has to fit beside what is on the GPU."""

from hardware_catalog.schema import Accelerator
from sizing.engines.plan import EnginePlan
from sizing.room import fullest_load, tightest_rank
from sizing.units import GIB


def host_overflow(planned: EnginePlan, accelerator: Accelerator | None) -> str | None:
    """A sentence where both together are more than the one machine has; None elsewhere."""
    if accelerator is None or accelerator.kind != "unified" or accelerator.memory_marketing_gb is None:
        return None
    if planned.scenario.placement.gpus > 1:  # several machines: which of them holds what is not known
        return None
    host, on_gpu = _on_host(planned), _on_gpu(planned)
    if not host or host + on_gpu <= accelerator.memory_marketing_gb * GIB:
        return None
    return (
        f"{host / GIB:.1f} GiB in host memory and {on_gpu / GIB:.1f} GiB on the GPU are more than the "
        f"{accelerator.memory_marketing_gb:g} GiB that they share."
    )


def _on_host(planned: EnginePlan) -> int:
    if planned.host is not None:
        return planned.host.weights_bytes + planned.host.kv_bytes + planned.host.state_bytes
    return planned.scenario.cpu_offload_bytes or 0


def _on_gpu(planned: EnginePlan) -> int:
    """The load's need; all of the budget where the engine's pool takes what is left of it."""
    if planned.scenario.cpu_offload_bytes:
        return planned.budget or 0
    rank = tightest_rank(planned)
    static = rank.weights + rank.draft + rank.encoder + rank.activation + rank.graphs + rank.runtime
    return static + int(rank.cache.need(*fullest_load(planned)))
