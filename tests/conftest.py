"""Settings of all tests."""

from hypothesis import settings

# How long one example takes says more about the machine than about the code; speed is measured by the benchmarks.
settings.register_profile("kv-atlas", deadline=None)
settings.load_profile("kv-atlas")
