"""Any program: a JSON object on stdin, a JSON object on stdout, and in between as many objects a line as it likes."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.harnesses import headless
from tallystick.harnesses.headless import Answer, Failed, Outcome, Reader, Request, Sign, Start, Told


class Plain:
    command = ""

    def start(self, binary: Sequence[str], request: Request) -> Start:
        return Start(argv=tuple(binary), stdin=request.prompt)

    def reader(self) -> Reader:
        return _Reader()


class _Reader:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._last: dict[str, object] = {}

    def feed(self, line: str) -> Sequence[Sign]:
        self._size += len(line)
        if self._size <= headless.SAID_CHARS:
            self._lines.append(line)
        found = headless.line_object(line)
        self._last = found or self._last
        return [Told(data=found)] if found else []

    def end(self, exit_code: int, errors: str) -> Outcome:
        if exit_code:
            return Failed(why=headless.gave_up(exit_code, errors))
        if self._size > headless.SAID_CHARS and not self._last:
            return Failed(why=f"it wrote more than {headless.SAID_CHARS} characters and no answer on a line of its own")
        text = "".join(self._lines)
        return Answer(text=text, data=self._last or headless.answer_object(text))
