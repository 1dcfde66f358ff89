"""Engine `vllm` (0.4 to 0.33): pools of blocks that all layer groups share."""

from sizing.engines.plan import Engine
from sizing.engines.vllm.drafts import OFFERED
from sizing.engines.vllm.formats import KV_DTYPES
from sizing.engines.vllm.planning import plan
from sizing.engines.vllm.rules import VERSIONS

ENGINE = Engine(name="vllm", label="vLLM", versions=VERSIONS, kv_dtypes=KV_DTYPES, plan=plan, draft_methods=OFFERED)
