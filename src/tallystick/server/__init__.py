"""The composition root of `tally up`: it imports the surfaces by name, wires them to one hub and runs them.

`run` opens what a hub needs and serves until a signal comes; `asgi` puts the ASGI application together, with the web
page; `mcp_http` is what MCP needs to be reached over HTTP, and `mcp_request` one call of it, loaded with the SDK.
"""
