"""The device that a run measures on: choosing it, timing it, reading its memory, limiting it. Needs torch."""

import gc
import os
import platform
from pathlib import Path

import torch

from live.memory import free_host_bytes
from live.receipts import Device, DeviceKind, Reading

STATUS = Path("/proc/self/status")
CPUINFO = Path("/proc/cpuinfo")
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "std::bad_alloc")


class NoDevice(ValueError):
    """The device that was asked for is not here."""


def choose_device(asked: str) -> DeviceKind:
    """CUDA, else MPS, else the CPU; or the one that was asked for. Raises NoDevice."""
    here: list[DeviceKind] = ["cpu"]
    if torch.backends.mps.is_available():
        here.insert(0, "mps")
    if torch.cuda.is_available():
        here.insert(0, "cuda")
    for kind in here:
        if asked in ("auto", kind):
            return kind
    raise NoDevice(f"This machine has no {asked.upper()} device; {' and '.join(here)} can be used.")


def leave_a_core() -> None:
    """Compute with all cores but one: threads that wait for a core make every step many times slower."""
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) - 1 if hasattr(os, "sched_getaffinity") else 1))


def describe(kind: DeviceKind) -> Device:
    if kind == "cuda":
        properties = torch.cuda.get_device_properties(0)
        return Device(kind=kind, name=properties.name, total_memory=properties.total_memory)
    if kind == "mps":
        return Device(kind=kind, name=f"Apple GPU ({_processor()})")
    threads = torch.get_num_threads()
    return Device(kind=kind, name=f"{_processor()}, {threads} thread{'' if threads == 1 else 's'}")


def _processor() -> str:
    """The CPU's model as Linux names it, else what Python knows."""
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def free_bytes(kind: DeviceKind) -> int | None:
    return torch.cuda.mem_get_info()[0] if kind == "cuda" else free_host_bytes()


def synchronize(kind: DeviceKind) -> None:
    """Wait until the device has done what it was given, so that a clock tells the truth."""
    if kind == "cuda":
        torch.cuda.synchronize()
    elif kind == "mps":
        torch.mps.synchronize()


def read_memory(kind: DeviceKind) -> Reading:
    """On a CPU torch keeps no account, so only the process's resident memory is known."""
    if kind == "cuda":
        free, total = torch.cuda.mem_get_info()
        return Reading(
            allocated=torch.cuda.memory_allocated(), reserved=torch.cuda.memory_reserved(), driver=total - free
        )
    if kind == "mps":
        return Reading(allocated=torch.mps.current_allocated_memory(), driver=torch.mps.driver_allocated_memory())
    return Reading(driver=_own_status("VmRSS"))


def _own_status(name: str) -> int | None:
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)


def limit_memory(kind: DeviceKind, more: int) -> None:
    """Let this process take at most `more` bytes beyond what it holds now; further ones fail as out of memory."""
    if kind == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, (torch.cuda.memory_reserved() + more) / total))
    elif kind == "mps":
        limit = torch.mps.recommended_max_memory()
        torch.mps.set_per_process_memory_fraction(min(1.0, (torch.mps.driver_allocated_memory() + more) / limit))
    else:
        limit_address_space(more)


def limit_address_space(more: int) -> None:
    """At most `more` bytes beyond the address space in use. Only Linux says how much that is."""
    used = _own_status("VmSize")
    if used is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + more, hard))


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in OUT_OF_MEMORY)


def release(kind: DeviceKind) -> Reading:
    """Give back what nothing refers to any more, and read what is left."""
    gc.collect()
    if kind == "cuda":
        torch.cuda.empty_cache()
    elif kind == "mps":
        torch.mps.empty_cache()
    return read_memory(kind)
