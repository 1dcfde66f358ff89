"""Engine `llama.cpp` (2024 to October 2026): cells set aside for every slot when the server starts."""

from sizing.engines.llama_cpp.builds import NEWEST, OLDEST
from sizing.engines.llama_cpp.drafts import METHODS
from sizing.engines.llama_cpp.planning import plan
from sizing.engines.llama_cpp.refusals import KV_DTYPES
from sizing.engines.plan import Engine

ENGINE = Engine(
    name="llama.cpp",
    label="llama.cpp",
    versions=(OLDEST, NEWEST),
    kv_dtypes=KV_DTYPES,
    plan=plan,
    draft_methods=METHODS,
)
