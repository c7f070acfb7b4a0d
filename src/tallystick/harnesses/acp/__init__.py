"""Agent Client Protocol, version 1: how to speak with a harness that runs as a process of its own for a long time.

`protocol` reads and writes the messages, `turn` follows what a prompt comes to, `programs` is the table of harnesses
and of what is peculiar to each. All of it is pure; who runs the process is `runtime/acp.py`.
"""
