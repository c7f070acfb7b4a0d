"""Protocol events: HANDOFF, BLOCKED, INCURSION and RESUME in one envelope, rendered from the ledger.

`protocol_events` and `protocol_parties` only say where such events are. Handoffs of the stick count among them;
incursions are written by `reservations`, and RESUME by `agents`, when a session adopts one.
"""
