"""Levers: what can be changed about a Scenario, one kind of change a module."""
