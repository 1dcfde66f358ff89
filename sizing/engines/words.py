"""Each engine's own words for a Scenario's settings, and the flags that set them.

Sources: vllm/engine/arg_utils.py (0.33), sglang/srt/server_args.py (0.5.23), llama.cpp common/arg.cpp,
tensorrt_llm/commands/serve.py and llmapi/llm_args.py (1.2).
"""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Option:
    """`word`: what the engine calls it. `flag` sets a value, or turns it on; `off` turns it off.

    Where neither is given it is set in the engine's file of options (TensorRT-LLM).
    """

    word: str
    flag: str = ""
    off: str = ""


_WITHOUT_SETTINGS = MappingProxyType(
    {"memory_fraction": Option("share of memory used"), "max_model_len": Option("longest request accepted")}
)

OPTIONS = MappingProxyType(
    {
        "minimum": _WITHOUT_SETTINGS,
        "transformers": _WITHOUT_SETTINGS,
        "vllm": MappingProxyType(
            {
                "memory_fraction": Option("gpu_memory_utilization", "--gpu-memory-utilization"),
                "max_model_len": Option("max_model_len", "--max-model-len"),
                "max_num_seqs": Option("max_num_seqs", "--max-num-seqs"),
                "max_num_batched_tokens": Option("max_num_batched_tokens", "--max-num-batched-tokens"),
                "block_size": Option("block_size", "--block-size"),
                "enforce_eager": Option("enforce_eager", "--enforce-eager"),
                "prefix_caching": Option(
                    "enable_prefix_caching", "--enable-prefix-caching", "--no-enable-prefix-caching"
                ),
                "hybrid_kv_cache_manager": Option(
                    "hybrid KV cache manager",
                    "--no-disable-hybrid-kv-cache-manager",
                    "--disable-hybrid-kv-cache-manager",
                ),
                "cpu_offload_bytes": Option("cpu_offload_gb", "--cpu-offload-gb"),
                "media_limits": Option("limit_mm_per_prompt", "--limit-mm-per-prompt"),
                "pooling": Option("pooling runner", "--runner pooling", "--runner generate"),
            }
        ),
        "sglang": MappingProxyType(
            {
                "memory_fraction": Option("mem_fraction_static", "--mem-fraction-static"),
                "max_model_len": Option("context_length", "--context-length"),
                "max_num_seqs": Option("max_running_requests", "--max-running-requests"),
                "max_num_batched_tokens": Option("max_prefill_tokens", "--max-prefill-tokens"),
                "chunked_prefill_size": Option("chunked_prefill_size", "--chunked-prefill-size"),
                "block_size": Option("page_size", "--page-size"),
                "swa_full_tokens_ratio": Option("swa_full_tokens_ratio", "--swa-full-tokens-ratio"),
                "mamba_full_memory_ratio": Option("mamba_full_memory_ratio", "--mamba-full-memory-ratio"),
                "max_mamba_cache_size": Option("max_mamba_cache_size", "--max-mamba-cache-size"),
                "enforce_eager": Option("disable_cuda_graph", "--disable-cuda-graph"),
                "prefix_caching": Option("radix cache", "", "--disable-radix-cache"),
                "hybrid_kv_cache_manager": Option("hybrid SWA memory", "", "--disable-hybrid-swa-memory"),
                "cpu_offload_bytes": Option("cpu_offload_gb", "--cpu-offload-gb"),
            }
        ),
        "llama.cpp": MappingProxyType(
            {
                "max_num_seqs": Option("parallel (slots)", "--parallel"),
                "max_num_batched_tokens": Option("batch-size", "--batch-size"),
                "ubatch_size": Option("ubatch-size", "--ubatch-size"),
                "gpu_layers": Option("n-gpu-layers", "--n-gpu-layers"),
                "cpu_moe_layers": Option("n-cpu-moe", "--n-cpu-moe"),
                "split_mode": Option("split-mode", "--split-mode"),
                "tensor_split": Option("tensor-split", "--tensor-split"),
                "kv_offload": Option("kv-offload", "--kv-offload", "--no-kv-offload"),
                "memory_by_gpu": Option("memory of each GPU"),
                "kv_unified": Option("kv-unified", "--kv-unified", "--no-kv-unified"),
                "flash_attention": Option("flash-attn", "--flash-attn on", "--flash-attn off"),
                "swa_full": Option("swa-full", "--swa-full"),
                "media_limits": Option("mmproj"),
            }
        ),
        "tensorrt-llm": MappingProxyType(
            {
                "memory_fraction": Option("free_gpu_memory_fraction", "--kv_cache_free_gpu_memory_fraction"),
                "max_model_len": Option("max_seq_len", "--max_seq_len"),
                "max_num_seqs": Option("max_batch_size", "--max_batch_size"),
                "max_num_batched_tokens": Option("max_num_tokens", "--max_num_tokens"),
                "block_size": Option("tokens_per_block"),
                "enforce_eager": Option("no CUDA graphs"),
                "prefix_caching": Option("enable_block_reuse"),
                "hybrid_kv_cache_manager": Option("a pool for each window"),
            }
        ),
    }
)


ENGINE_FIELDS = frozenset(field for options in OPTIONS.values() for field in options)


def word_of(engine: str, field: str) -> str:
    """The engine's name of a Scenario field; the field's own where it has none."""
    option = OPTIONS[engine].get(field)
    return option.word if option else field
