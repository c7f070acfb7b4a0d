"""MCP: Talking Stick's tools by their own names and one portal per noun, all derived from the registry of operations.

`server` is the protocol without a transport, `stdio` is `tally mcp`. `tools` and `portals` say what is offered.
"""
