"""The bus without its transports: Weave's envelopes in, replies and deliveries out.

`envelope` reads and writes lines, `commands` turns each into operations of the hub, `connection` is one peer,
`delivery` sends actions to the agents that are connected, `records` shows ledger events as bus events. The Unix socket
and HTTP only carry the lines (see `surfaces/bus` and `surfaces/http/bus`).
"""
