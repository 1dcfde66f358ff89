"""Benchmarks, fits and full sweeps that are run by hand, with their committed results."""
