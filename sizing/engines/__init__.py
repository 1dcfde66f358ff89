"""One module an engine: how it lays out the cache, what it budgets, what it prints."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from sizing.engines.plan import Engine

MODULES = {
    "minimum": "minimum",
    "transformers": "transformers",
    "vllm": "vllm",
    "sglang": "sglang",
    "llama.cpp": "llama_cpp",
    "tensorrt-llm": "tensorrt_llm",
}


class Engines(Mapping[str, Engine]):
    """Engines by name. An engine's module is imported when it is asked for, which keeps starts quick."""

    def __getitem__(self, name: str) -> Engine:
        return _engine(MODULES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


@cache
def _engine(module: str) -> Engine:
    engine: Engine = import_module(f"sizing.engines.{module}").ENGINE
    return engine


ENGINES = Engines()
