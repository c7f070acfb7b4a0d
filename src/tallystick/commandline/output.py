"""What leaves the program: the JSON envelope, the refusal on stderr, and remarks beside the result."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from tallystick.commandline.visible import visible, visible_json
from tallystick.kernel.errors import TallyError


def envelope(command: str, data: object = None, error: Mapping[str, object] | None = None) -> str:
    return visible_json({"ok": error is None, "command": command, "data": data, "error": error})


def refuse(command: str, error: TallyError, *, as_json: bool) -> None:
    if as_json:
        print(envelope(command, error=error.payload()), flush=True)
        return
    remark(f"error: {error.message}")
    if error.advice:
        remark(f"hint: {error.advice}")


def remark(text: str) -> None:
    """A line beside the result."""
    print(visible(text), file=sys.stderr, flush=True)
