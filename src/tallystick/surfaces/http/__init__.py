"""The hub over HTTP, on loopback TCP and on a Unix socket.

`serve` starts it and `control` looks after it. A request passes `connection` (bytes), `front` (log, headers, refusals),
`door` (who is it), `limits`, and then one handler: `calls`, `stream`, `uploads` or `desk`. Routes, the OpenAPI document
and what each refusal looks like are derived from the registry of operations.
"""
