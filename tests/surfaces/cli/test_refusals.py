"""Every refusal leaves the program in one shape, with one exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.kernel.errors import Fault, InternalFault, InvalidField, TallyError, Unavailable
from tallystick.storage.errors import StoreReadOnly
from tallystick.surfaces.cli.failures import exit_code, guarded
from tallystick.surfaces.cli.reference import every_error
from tallystick.surfaces.cli.session import Session, Usage

ERRORS = every_error()


SPELLING = Session().spelling
"""As a person's terminal, or a program's, names the next step."""


def _raising(error: BaseException, *, as_json: bool) -> int:
    def work() -> int:
        raise error

    return guarded(Session(command="state", as_json=as_json), work)


def _expected_code(kind: type[TallyError]) -> int:
    return 2 if kind is Usage else 3 if issubclass(kind, Unavailable) else 4 if issubclass(kind, Fault) else 1


def test_every_refusal_is_one_envelope_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ERRORS:
        code = _raising(kind(details={"current_owner": "codex:1"}), as_json=True)

        seen = capsys.readouterr()
        assert json.loads(seen.out) == {
            "ok": False,
            "command": "state",
            "data": None,
            "error": {
                "code": kind.code,
                "message": kind().message,
                "hint": kind().advice_in(SPELLING),
                "retryable": kind.retryable,
                "details": {"current_owner": "codex:1"},
            },
        }
        assert (seen.out.count("\n"), seen.err, code) == (1, "", _expected_code(kind)), kind


def test_every_refusal_is_two_clear_lines_without_json(capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ERRORS:
        code = _raising(kind(), as_json=False)

        seen = capsys.readouterr()
        assert (seen.out, seen.err) == ("", f"error: {kind().message}\nhint: {kind().advice_in(SPELLING)}\n"), kind
        assert code == exit_code(kind()) == _expected_code(kind), kind


def test_a_refusal_that_quotes_hostile_text_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(InvalidField("bad \x1b[2J name\nerror: forged"), as_json=False)

    assert capsys.readouterr().err.splitlines()[0] == "error: bad \\x1b[2J name\\nerror: forged"


def test_in_a_harnesss_sandbox_an_agent_is_not_sent_to_another_store(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_SANDBOX_NETWORK_DISABLED", "1")
    code = _raising(StoreReadOnly("/data cannot be written to."), as_json=True)

    error = json.loads(capsys.readouterr().out)["error"]
    assert (code, error["code"], error["message"]) == (4, "store_read_only", "/data cannot be written to.")
    assert "call our MCP tools" in error["hint"]
    assert "TALLYSTICK_DATA_DIR" not in error["hint"]


def test_an_interrupt_ends_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    code = _raising(KeyboardInterrupt(), as_json=False)

    assert (code, *capsys.readouterr()) == (130, "", "")


def test_an_unexpected_error_is_an_internal_fault_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", f"{tmp_path}/none")
    code = _raising(ZeroDivisionError("secret"), as_json=True)

    error = json.loads(capsys.readouterr().out)["error"]
    assert (code, error["code"], error["message"]) == (4, "internal_fault", InternalFault().message)
    assert (
        error["hint"] == "Run `tally doctor`; if it finds nothing, repeat it with TALLYSTICK_DEBUG=1 and report that."
    )


def test_the_traceback_goes_to_the_log_of_an_existing_store(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", str(tmp_path))
    _raising(ZeroDivisionError("at noon"), as_json=False)

    assert "ZeroDivisionError: at noon" in (tmp_path / "tally.log").read_text("utf-8")
    assert f"{tmp_path}/tally.log" in capsys.readouterr().err


def test_the_traceback_is_shown_to_those_who_asked_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TALLYSTICK_DATA_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("TALLYSTICK_DEBUG", "1")
    _raising(ZeroDivisionError("at noon"), as_json=False)

    assert "ZeroDivisionError: at noon" in capsys.readouterr().err
