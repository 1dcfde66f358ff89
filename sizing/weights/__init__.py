"""Bytes of a model's weights: what a checkpoint stores, and what each parallel rank holds of it."""
