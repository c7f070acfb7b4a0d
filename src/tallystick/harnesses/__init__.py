"""What we know of the programs that run agents: how to recognise one, which instance is calling, whether it still runs.

`identity.resolve` is the door for every surface; `processes` holds the facts, `known` the table of harnesses.
"""
