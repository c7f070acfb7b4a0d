"""MCP: Talking Stick's tools by their own names and one portal per noun, all derived from the registry of operations.

`server` is the protocol without a transport, `handlers` carries requests out, `tools` says what is offered. `shim` and
`stdio` are `tally mcp` with and without a hub, `hub_socket` the hub's end.
"""
