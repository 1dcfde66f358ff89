"""Checkpoints that only draft for a model: EAGLE, DFlash and DSpark heads, Medusa heads, MLP speculators."""
