"""`tally demo`: three scripted agents share one small repository, and one of them dies at work.

Every agent is a process with a real MCP client and a `tally mcp` server of its own: what they do is in `agent`, what
they say in `story`. `run` follows the ledger, which is all that a reader is shown, and checks how it ended.
"""
