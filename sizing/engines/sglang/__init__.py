"""Engine `sglang`: fixed pools of tokens and recurrent slots, by release 0.4.3 to 0.5.23."""

from sizing.engines.plan import Engine
from sizing.engines.sglang.drafts import METHODS
from sizing.engines.sglang.planning import plan
from sizing.engines.sglang.refusals import KV_DTYPES
from sizing.engines.sglang.rules import VERSIONS

ENGINE = Engine(
    name="sglang",
    label="SGLang",
    versions=VERSIONS,
    kv_dtypes=KV_DTYPES,
    plan=plan,
    draft_methods=METHODS,
)
