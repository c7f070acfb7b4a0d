"""The bus without its transports: Weave's envelopes in, replies and deliveries out.

`envelope` reads and writes lines, `commands` turns each into operations of the hub, `party` is one connection, `desks`
hand actions to those who are connected, `records` shows ledger events as bus events, `dispatcher` holds all together.
The Unix socket and HTTP only carry the lines (see `surfaces/bus` and `surfaces/http/bus_face`).
"""
