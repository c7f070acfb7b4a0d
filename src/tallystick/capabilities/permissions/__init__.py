"""Permissions: what an agent may not do unasked, put to the people of the room, and answered in one place.

A request is an event; its number names it. The room's policy settles what it can at once; the rest stays open until
somebody answers, the agent withdraws it, or it is gone. Nothing is ever allowed by silence.
"""
