"""Refusals that only the bus can give."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound, Unavailable


class InvalidEnvelope(InvalidInput):
    """That line is not an envelope."""

    hint = 'Send one JSON object per line with at least v, type, id, ts and src: {"v":1,"type":"session.list",…}.'


class UnsupportedVersion(InvalidInput):
    """This hub speaks version 1 of the bus protocol only."""

    hint = "Send envelopes with v: 1."


class SrcMismatch(NotAllowed):
    """The envelope's src is not who this connection belongs to."""

    hint = "Send everything on one connection under one src, over the network under the name of your token."


class SeqOutOfOrder(Conflict):
    """seq must rise with every envelope of a connection."""

    hint = "Count up by one per envelope, or leave seq out; a new connection starts anew."


class SessionRequired(InvalidInput):
    """This command is about a session, and the envelope names none."""

    hint = "Put the session's id into the envelope's `session`; session.list shows them."


class NoStream(Conflict):
    """There is no open stream to send events to."""

    hint = "Open GET /v1/bus/stream and name its connection in the header Tally-Bus; on the socket there is always one."


class ConnectionReplaced(Conflict):
    """Another connection speaks for this agent now, and has its actions."""

    hint = "Stop here, or send agent.add again to have the agent's actions delivered to this connection."


class UnknownConnection(NotFound):
    """There is no bus connection of yours with that id."""

    hint = "Open GET /v1/bus/stream again and use the id in its first event."


class TooManyAtOnce(Unavailable):
    """This connection has too many streams or waits open."""

    hint = "Wait for some to end, or open another connection."
