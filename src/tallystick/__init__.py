"""Tallystick: one local-first hub for people who run several coding agents on the same code."""

__version__ = "0.1.0"
