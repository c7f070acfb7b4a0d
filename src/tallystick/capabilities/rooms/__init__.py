"""Rooms: one namespace, one ledger, one stick per workspace. Finding the room of a path, joining, policy, notes.

Whose turn it is belongs to `turns`; rooms ask for it through the Protocol `Sticks` in `model`.
"""
