"""The composition root of `tally up`: it imports the surfaces by name, wires them to one hub and runs them.

`run` opens what a hub needs and serves until a signal comes; `app` puts the ASGI application together; `mcp_http` and
`pages` are what MCP and the web page need to be reached over HTTP.
"""
