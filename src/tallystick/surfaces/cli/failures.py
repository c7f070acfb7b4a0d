"""The outermost handler: turns whatever ended a command into its exit code and one clear message.

0 ok · 1 refused · 2 usage · 3 unavailable · 4 fault · 5 not yet (no turn, no answer) · 130 interrupted
141 the reader went away
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from tallystick.commandline import output
from tallystick.kernel.errors import Fault, InternalFault, TallyError, Unavailable
from tallystick.surfaces.cli.session import Session, Usage

OK, REFUSED, USAGE, UNAVAILABLE, FAULT, NOT_YET, INTERRUPTED, HUNG_UP = 0, 1, 2, 3, 4, 5, 130, 141


def exit_code(error: TallyError) -> int:
    if isinstance(error, Usage):
        return USAGE
    if isinstance(error, Unavailable):
        return UNAVAILABLE
    return FAULT if isinstance(error, Fault) else REFUSED


def guarded(session: Session, work: Callable[[], int]) -> int:
    """Run a command to its exit code, whatever happens inside."""
    try:
        try:
            code = work()
        except TallyError as error:
            code = _report(session, error)
        finally:
            session.close()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return hang_up()
    except Exception:  # noqa: BLE001 - the outermost handler of this surface
        return _fault(session)
    return code


SANDBOXED = (
    "This shell is in your harness's sandbox, which keeps it from writing there: call our MCP tools (join_path, "
    "messages, agents …) instead, which run outside of it. Another data directory would be "
    "another store, with nobody in it."
)


def _for_a_sandbox(error: TallyError) -> TallyError:
    """The refusal with advice that an agent can follow: what a person would do there gives it a second, empty store."""
    from tallystick.harnesses import registry

    if error.code != "store_read_only" or not registry.sandboxed(os.environ):
        return error
    return type(error)(error.message, hint=SANDBOXED, details=error.details)


def _report(session: Session, error: TallyError) -> int:
    error = _for_a_sandbox(error)
    output.refuse(session.command, error, as_json=session.as_json, spelling=session.spelling)
    return exit_code(error)


def _fault(session: Session) -> int:
    """A bug of ours: the traceback goes to the log, and to the terminal only for those who asked for it."""
    import traceback  # Here: every command would load it for nothing.

    text = traceback.format_exc()
    if os.environ.get("TALLYSTICK_DEBUG") == "1":
        sys.stderr.write(text)
    log = _log(session, text)
    where = f"report this with the traceback in {log}" if log else "repeat it with TALLYSTICK_DEBUG=1 and report that"
    return _report(session, InternalFault(hint=f"Run `tally doctor`; if it finds nothing, {where}."))


def _log(session: Session, text: str) -> str | None:
    """Append to the log in the data directory, if there is one: a failing command creates no store."""
    try:
        file = session.settings.data_dir / "tally.log"
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except (OSError, RuntimeError):
        return None
    with os.fdopen(handle, "a", encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"{datetime.now(UTC).isoformat()} tally {session.command}\n{text}\n")
    return str(file)


def hang_up() -> int:
    """The reader of our output went away: say nothing more, also not while the interpreter shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return HUNG_UP
