"""Accelerators and what they cost: facts with their sources, and the look-up."""

from hardware_catalog.lookup import UnknownAccelerator, all_accelerators, custom_accelerator, get_accelerator
from hardware_catalog.schema import Accelerator, MemoryFigure

__all__ = [
    "Accelerator",
    "MemoryFigure",
    "UnknownAccelerator",
    "all_accelerators",
    "custom_accelerator",
    "get_accelerator",
]
