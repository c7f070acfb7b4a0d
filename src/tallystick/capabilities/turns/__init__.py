"""Turns: one stick per room. Waiting, leases with fencing, structured handoffs, explicit takeover, closing.

`sticks` is folded from `x.tally.stick.*` events; `leases` (tokens and their ends) is live state without events.
"""
