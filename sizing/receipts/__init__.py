"""Public start-up figures, and what the core predicts for each."""
