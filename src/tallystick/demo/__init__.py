"""`tally demo`: three scripted agents share one small repository, and one of them dies at work.

Every agent is a process with a real MCP client and a `tally mcp` server of its own. What they do is in `parts`, what
they say in `script`; `director` follows the ledger, which is all that a reader is shown, and `ending` checks it.
"""
