"""Agents: who is in a room, in which order they take turns, and when each was last seen.

The `agents` table is folded from `actor.*` events; the table `presence` (last seen, process facts) is live state
without events.
"""
