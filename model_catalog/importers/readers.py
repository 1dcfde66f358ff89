"""All readers by model type. A module is imported when a type is looked for in it, which keeps starts quick."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module

from model_catalog.fields import Fields
from model_catalog.spec import ModelSpec

Reader = Callable[[Fields], ModelSpec]

# The most common families first: a type is looked for in this order.
MODULES = (
    "families",
    "latent",
    "uneven",
    "recurrent",
    "text_parts",
    "legacy",
    "remote_code",
    "encoder_decoder",
    "looped",
)


@cache
def _readers_in(module: str) -> Mapping[str, Reader]:
    found: Mapping[str, Reader] = import_module(f"model_catalog.importers.{module}").READERS
    return found


class Readers(Mapping[str, Reader]):
    """model_type → reader."""

    def __getitem__(self, model_type: str) -> Reader:
        for module in MODULES:
            if model_type in _readers_in(module):
                return _readers_in(module)[model_type]
        raise KeyError(model_type)

    def __iter__(self) -> Iterator[str]:
        return (model_type for module in MODULES for model_type in _readers_in(module))

    def __len__(self) -> int:
        return sum(len(_readers_in(module)) for module in MODULES)


READERS = Readers()
