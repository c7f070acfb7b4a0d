"""Reservations: who edits which path of a room, exclusively or shared, until when. Overlap, takeover, incursions.

`reservations` and `incursions` are folded from `x.tally.reservation.*` and `x.tally.protocol.incursion` events.
Whether one has run out follows from the clock; the event that archives it is written by the next call that finds it.
"""
