"""One module an engine: how it lays out the cache, what it budgets, what it prints."""

from sizing.engines import llama_cpp, minimum, sglang, transformers, vllm
from sizing.engines.plan import Engine

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (minimum.ENGINE, transformers.ENGINE, vllm.ENGINE, sglang.ENGINE, llama_cpp.ENGINE)
}
