"""HTTP: operations as `POST /v1/noun.verb`, the event stream, the bus, and what surrounds them.

A request passes `connections` (uvicorn), `middleware` (log, metrics, limits) and `authentication` (host, token, cookie)
before `app` routes it; `calls` answers most of them.
"""
