"""What each engine setting does, in one sentence, for readers who do not know the engine's word for it."""

from types import MappingProxyType

HELP = MappingProxyType(
    {
        "memory_fraction": "The share of memory that the engine may fill.",
        "max_model_len": "The longest request that is accepted, prompt and answer together.",
        "max_num_seqs": "The most requests that run at once.",
        "max_num_batched_tokens": "The most tokens of prompts and answers in one step.",
        "chunked_prefill_size": "Longer prompts are read in pieces of so many tokens.",
        "ubatch_size": "Tokens that are computed at once; more take a larger compute buffer.",
        "block_size": "The cache is given out in pieces of so many tokens.",
        "enforce_eager": "Without CUDA graphs, which take memory and save time.",
        "prefix_caching": "Requests that begin alike share the cache of what they begin with.",
        "hybrid_kv_cache_manager": "Layers with a window keep no more than it. Off, they keep every token.",
        "swa_full": "Layers with a window keep every token.",
        "swa_full_tokens_ratio": "Tokens that layers with a window have room for, as a share of the others'.",
        "mamba_full_memory_ratio": "Bytes of recurrent states for each byte of tokens.",
        "max_mamba_cache_size": "So many recurrent states are kept, instead of a share of the memory.",
        "kv_unified": "All requests share one cache. Off, each has an equal part of it.",
        "kv_offload": "The cache is on the GPU. Off, it is in host memory.",
        "flash_attention": "Attention without its table of scores.",
        "gpu_layers": "So many of the last layers, and the output, are on GPUs; the others stay in host memory.",
        "cpu_moe_layers": "The experts of so many of the first layers stay in host memory.",
        "cpu_offload_bytes": "Weights that each GPU leaves in host memory.",
        "split_mode": "Whole layers on each GPU, a part of each matrix, or all on one GPU.",
        "tensor_split": "The share of the layers that each GPU takes, with commas between.",
        "memory_by_gpu": "Where the GPUs differ: the memory of each, with commas between.",
        "media_limits": "Images, videos and audio clips that a request may carry. Text only leaves the encoders out.",
        "pooling": "The model returns embeddings and writes no text.",
    }
)

OF_ENGINE = MappingProxyType(
    {
        ("sglang", "memory_fraction"): "The share of memory for weights and cache together; the rest is for all else.",
        ("sglang", "max_num_batched_tokens"): "The most tokens of prompts in one step.",
        ("tensorrt-llm", "memory_fraction"): "The share for the cache of what is free after the model is loaded.",
    }
)


def help_of(engine: str, field: str) -> str | None:
    return OF_ENGINE.get((engine, field)) or HELP.get(field)
