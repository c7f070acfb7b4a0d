"""What waits for the person: one list over everything in a room, in the order in which it should be settled.

`rules.py` decides what waits and why, from what the capabilities below know. Nothing of it is stored: an item is gone
as soon as its cause is. Only what the person put aside is on the ledger, dismissed for good or snoozed for a while.
"""
