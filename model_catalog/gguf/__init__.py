"""GGUF files: their header, and a ModelSpec from it."""
