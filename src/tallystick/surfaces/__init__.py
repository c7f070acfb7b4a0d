"""Bytes: each surface translates one protocol for the hub; it knows hub, kernel and harnesses, no other surface."""
