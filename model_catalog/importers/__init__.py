"""Readers: the one path from the facts of a config.json to a ModelSpec, for the catalog and for visitors alike."""

from model_catalog.importers.read import read_config

__all__ = ["read_config"]
