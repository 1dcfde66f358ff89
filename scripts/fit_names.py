"""What start-up logs call accelerators, models and precisions, in the catalogs' names."""

# What the logs call an accelerator, and models by another name or of the same shape.
ACCELERATORS = {
    "GB10": "dgx-spark-gb10",
    "GH200": "gh200-96gb",
    "H200": "h200-sxm-141gb",
    "H100": "h100-sxm5-80gb",
    "A100": "a100-sxm4-80gb",
    "3090": "rtx-3090",
    "4090": "rtx-4090",
    "5090": "rtx-5090",
    "RTX PRO 6000": "rtx-pro-6000-workstation",
    "T4": "t4",
    "L40S": "l40s",
    "L4": "l4",
    "Thor": "jetson-thor-t5000",
    "A10G": "a10g",
}
MODELS = {
    "Qwen2.5-1.5B-Instruct": "Qwen/Qwen2.5-1.5B",
    "Qwen2.5-0.5B-Instruct": "Qwen/Qwen2.5-0.5B",
    "Qwen2.5-32B": "Qwen/Qwen2.5-32B",
    "Qwen2.5-Coder-7B": "Qwen/Qwen2.5-7B",
    "gemma-3-27b": "google/gemma-3-27b-it",
    "gemma-2b": "google/gemma-2b-it",
    "typhoon-ocr-7b": "Qwen/Qwen2.5-VL-7B-Instruct",
    "Qwen3-4B-Base": "Qwen/Qwen3-4B",
    "DeepSeek-R1-0528-Qwen3-8B": "Qwen/Qwen3-8B",
    "MiniMax-M2.5": "MiniMaxAI/MiniMax-M2.5",
    "gemma-4-26B": "google/gemma-4-26B-A4B",
    "gemma4-26b": "google/gemma-4-26B-A4B",
    "Qwen3-235B-A22B-FP8": "Qwen/Qwen3-235B-A22B-FP8",
    "Qwen3-30B-A3B (": "Qwen/Qwen3-30B-A3B",
    "Qwen3-VL-30B": "Qwen/Qwen3-VL-30B-A3B-Instruct",
    "qwen-3/transformers/8b": "Qwen/Qwen3-8B",
    "Llama-3.3-70B-Instruct-FP8": "meta-llama/Llama-3.3-70B-Instruct",
    "Meta-Llama-3-8B": "meta-llama/Meta-Llama-3-8B",
    "Llama-3.1-8B": "meta-llama/Llama-3.1-8B",
    "R1-Distill-Qwen-14B": "Qwen/Qwen2.5-14B",
    "R1-Distill-Qwen-32B": "Qwen/Qwen2.5-32B",
    "Qwen2.5-14B": "Qwen/Qwen2.5-14B",
    "Qwen2.5-3B": "Qwen/Qwen2.5-3B",
    "gpt-oss-20b": "openai/gpt-oss-20b",
    "Qwen3.5-27B": "Qwen/Qwen3.5-27B",
    "Qwen3.5-9B": "Qwen/Qwen3.5-9B",
    "Qwen3-32B": "Qwen/Qwen3-32B",
    "DeepSeek-V4-Flash-0731": "deepseek-ai/DeepSeek-V4-Flash-0731",
    "Qwen3-Embedding-8B": "Qwen/Qwen3-Embedding-8B",
}
PRECISIONS = {"NVFP4": "nvfp4", "FP8": "fp8", "AWQ": "awq-int4"}  # by a model's name
SETTINGS = {"fp8": "fp8", "bitsandbytes": "bnb-nf4", "torch.float32": "fp32"}  # by vLLM's own words
MIDDLE = "0.11"  # for logs that name no release at all; they are checked apart
OLD_ENGINE = "0.6"  # stands for the releases of logs that say no more than that the old engine wrote them
