"""Wiring: settings, the registry of operations, and the hub that runs them in transactions."""
