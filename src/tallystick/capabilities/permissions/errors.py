"""Refusals about requests for permission."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, NotAllowed, NotFound
from tallystick.kernel.hints import step


class PermissionNotFound(NotFound):
    """There is no such request for permission in this room."""

    hint = f"Name a request by its number: {step('permissions.list')} shows the open ones."


class PermissionSettled(Conflict):
    """That request is settled: the first answer counts."""

    hint = f"Nothing is to be done; {step('permissions.list')} shows what is still open."


class MayNotAnswer(NotAllowed):
    """Only a person, or an agent that the room's policy names, answers a request for permission."""

    hint = "Have the user answer it: `tally allow` and `tally deny` at a terminal, or the page."


class NotYourPermission(NotAllowed):
    """Only the agent that asked withdraws a request."""

    hint = f"Answer it instead, if you may: {step('permissions.list')} shows what is open."


class NotYourPolicy(NotAllowed):
    """Only a person says what agents may do unasked."""

    hint = "Have the user set the policy at a terminal, or use a token that may manage."


class TooManyPermissions(Conflict):
    """That agent has too many open requests."""

    hint = f"Withdraw those that nobody needs any more: {step('permissions.list')} shows them."
