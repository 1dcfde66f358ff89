"""Engine `tensorrt-llm` (0.12 to main of 2026): blocks from a share of the memory that loading leaves free.

Modelled is the first KV cache manager: the C++ runtime of TensorRT engines until 1.0, the PyTorch path since.
Sources: _torch/pyexecutor/_util.py and resource_manager.py, llmapi/llm_args.py, cpp batch_manager/kvCacheManager.cpp.
"""

from sizing.engines.plan import Engine
from sizing.engines.tensorrt_llm.drafts import METHODS
from sizing.engines.tensorrt_llm.planning import plan
from sizing.engines.tensorrt_llm.refusals import KV_DTYPES
from sizing.engines.tensorrt_llm.rules import VERSIONS

ENGINE = Engine(
    name="tensorrt-llm",
    label="TensorRT-LLM",
    versions=VERSIONS,
    kv_dtypes=KV_DTYPES,
    plan=plan,
    draft_methods=METHODS,
)
