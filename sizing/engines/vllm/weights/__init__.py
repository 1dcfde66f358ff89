"""Weights: what vLLM loads of a checkpoint, how its kernels hold it, and what its allocator counts."""
