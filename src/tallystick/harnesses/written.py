"""Which files a shell command writes, moves or removes: its redirections, and the operands of commands that we know.

A command we do not know, or an operand that cannot be read, names nothing. What it misses the git guard still sees.
"""

from __future__ import annotations

import os
import re

from tallystick.harnesses import shell, writers
from tallystick.harnesses.shell_words import ASSIGNMENT, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from tallystick.harnesses.shell_words import Command

    class Look(Protocol):
        """What only the file system knows."""

        def is_folder(self, path: str) -> bool: ...

        def matching(self, pattern: str) -> Sequence[str]:
            """The existing paths that a glob pattern stands for."""
            ...


_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "{", "!", "time", "coproc"})
_WRAPPERS = {
    "sudo": ("-u", "-g", "-C", "-h", "-p"),
    "env": ("-u", "-C", "-S"),
    "nice": ("-n",),
    "timeout": ("-s", "-k"),
    "command": (),
    "builtin": (),
    "exec": ("-a",),
    "nohup": (),
    "stdbuf": ("-i", "-o", "-e"),
}
"""Commands that run the rest of their words, and their options that take a value."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_SAFE = re.compile(r"[\w@%+=:,./-]+")


def by(text: str, folder: str, look: Look, variables: Mapping[str, str]) -> list[str]:
    """The absolute paths that this command line changes when it runs in this folder."""
    return list(_Line(folder, look, variables).read(text))


def joined(words: Sequence[str]) -> str:
    """A program's arguments as one command line."""
    return " ".join(word if _SAFE.fullmatch(word) else "'" + word.replace("'", "'\"'\"'") + "'" for word in words)


class _Line:
    def __init__(self, folder: str, look: Look, variables: Mapping[str, str]) -> None:
        self._folders: list[str | None] = [folder]
        """Where each level of subshells is; None once that cannot be told."""
        self._look, self._variables = look, variables

    def read(self, text: str) -> Iterator[str]:
        for command in shell.commands(text, self._variables):
            self._enter(command.level)
            yield from self._paths(command.writes, self._folders[-1])
            if words := _bare(command.words):
                yield from self._command(words, command)

    def _enter(self, level: int) -> None:
        del self._folders[level + 1 :]
        while len(self._folders) <= level:
            self._folders.append(self._folders[-1])

    def _command(self, words: Sequence[Word], command: Command) -> Iterator[str]:
        name, operands = os.path.basename(words[0].text), words[1:]  # noqa: PTH119
        if name in {"cd", "pushd"}:
            self._move(writers.operands_of(operands))
        elif name in _SHELLS or name == "eval":
            yield from self._nested(name, operands)
        elif name in {"apply_patch", "applypatch"} or (name == "git" and operands and operands[0].text == "apply"):
            from tallystick.harnesses import patches

            for patch in [*command.bodies, *(each.text for each in operands if "\n" in each.text)]:
                yield from _absolute(patches.files(patch), self._folders[-1])
        elif name == "git":
            yield from self._git(operands)
        elif found := writers.WRITERS.get(name):
            yield from self._paths(found(operands, self._is_folder), self._folders[-1])

    def _nested(self, name: str, operands: Sequence[Word]) -> Iterator[str]:
        if name == "eval":
            texts = operands
        else:
            at = next((at for at, each in enumerate(operands) if re.fullmatch(r"-[a-z]*c[a-z]*", each.text)), None)
            texts = operands[at + 1 : at + 2] if at is not None else ()
        if texts and all(each.readable for each in texts) and (here := self._folders[-1]) is not None:
            yield from by(" ".join(each.text for each in texts), here, self._look, self._variables)

    def _git(self, operands: Sequence[Word]) -> Iterator[str]:
        folder, rest = self._folders[-1], list(operands)
        while rest and rest[0].text.startswith("-"):
            option = rest.pop(0).text
            if option in {"-C", "-c"} and rest:
                value = rest.pop(0)
                if option == "-C" and folder is not None:
                    folder = os.path.join(folder, value.text) if value.readable else None  # noqa: PTH118
        if rest and (verb := writers.GIT.get(rest[0].text)):
            yield from self._paths(verb(rest[1:]), folder)

    def _move(self, operands: Sequence[Word]) -> None:
        here = self._folders[-1]
        to = operands[0] if operands else Word(self._variables.get("HOME", "~"))
        known = here is not None and to.readable and to.text != "-"
        self._folders[-1] = os.path.join(here or "", to.text) if known else None  # noqa: PTH118

    def _is_folder(self, word: Word) -> bool:
        here = self._folders[-1]
        return word.text.endswith("/") or (here is not None and self._look.is_folder(os.path.join(here, word.text)))  # noqa: PTH118

    def _paths(self, words: Iterable[Word], folder: str | None) -> Iterator[str]:
        for word in words:
            if not word.readable or not word.text or word.text.startswith("/dev/"):
                continue
            if word.pattern is None:
                yield from _absolute([word.text], folder)
            else:
                for pattern in _absolute([word.pattern], folder):
                    yield from self._look.matching(pattern)


def _absolute(paths: Iterable[str], folder: str | None) -> Iterator[str]:
    """Where these paths lead; nothing for a relative one when the folder is not known."""
    for path in paths:
        if folder is not None or os.path.isabs(path):  # noqa: PTH117
            yield os.path.normpath(os.path.join(folder or "", path))  # noqa: PTH118


def _bare(words: Sequence[Word]) -> Sequence[Word]:
    """The command itself, without keywords, assignments and wrappers before it."""
    rest = list(words)
    while rest:
        name = os.path.basename(rest[0].text)  # noqa: PTH119
        if name in _KEYWORDS or ASSIGNMENT.fullmatch(rest[0].text):
            rest.pop(0)
        elif name in _WRAPPERS:
            rest = _wrapped(name, rest[1:])
        else:
            break
    return rest


def _wrapped(name: str, rest: list[Word]) -> list[Word]:
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if option in _WRAPPERS[name]:
            del rest[:1]
    # The duration.
    return rest[1:] if name == "timeout" else rest
