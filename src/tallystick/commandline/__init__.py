"""What every `tally` command has in common, whichever part of the program it belongs to.

It stands below the surfaces and the clients, so that each of them declares its own commands with the same global
options, the same envelope and the same words for what was mistyped; `surfaces.cli` puts all of them into one tree.
"""
