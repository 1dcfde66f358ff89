"""The core: a Scenario in, a Report out. Pure functions; no Streamlit, no torch, no network."""
