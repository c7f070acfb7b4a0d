"""Which files a shell command writes, moves or removes: its redirections, and the operands of commands that we know.

A command we do not know, or an operand that cannot be read, names nothing. What it misses the git guard still sees.
"""

from __future__ import annotations

import os
import re

from tallystick.harnesses.shell import parser
from tallystick.harnesses.shell.parser import ASSIGNMENT, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    IsFolder: TypeAlias = Callable[[Word], bool]
    Writer: TypeAlias = Callable[[Sequence[Word], IsFolder], list[Word]]
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from tallystick.harnesses.shell.parser import ShellCommand

    class Look(Protocol):
        """What only the file system knows."""

        def is_folder(self, path: str) -> bool: ...

        def matching(self, pattern: str) -> Sequence[str]:
            """The existing paths that a glob pattern stands for."""
            ...


_IN_PLACE = re.compile(r"-[a-zA-Z]*i.*|--in-place(=.*)?")
_BRINGS_SCRIPT = re.compile(r"-[a-zA-Z]*[eEf]|--(expression|file)")
_FORCED = re.compile(r"-[a-zA-Z]*f[a-zA-Z]*|--force")


def operands_of(words: Sequence[Word], valued: Iterable[str] = ()) -> list[Word]:
    """The words that are neither options nor the values of those that take one."""
    kept, rest = list[Word](), list(words)
    while rest:
        word = rest.pop(0)
        if word.text == "--":
            return [*kept, *rest]
        if not word.text.startswith("-") or word.text == "-":
            kept.append(word)
        elif word.text in valued:
            del rest[:1]
    return kept


def _all(*valued: str) -> Writer:
    """Every operand is written."""
    return lambda words, _: operands_of(words, valued)


def _moved(words: Sequence[Word], is_folder: IsFolder) -> list[Word]:
    """What is moved is gone from its old name and new under the other."""
    sources = operands_of(words, ("-t", "-S"))
    return [*(sources if _into(words) else sources[:-1]), *_copied(words, is_folder)]


def _copied(words: Sequence[Word], is_folder: IsFolder) -> list[Word]:
    """The file that a copy is written to; within a folder it keeps its name."""
    operands = operands_of(words, ("-t", "-S", "-m", "-o", "-g"))
    to = _into(words)
    if to is None:
        if len(operands) < 2:
            return []
        *operands, to = operands
        if len(operands) == 1 and not is_folder(to):
            return [to]
    return [_inside(to, each) for each in operands]


def _into(words: Sequence[Word]) -> Word | None:
    """The folder of `-t FOLDER` or `--target-directory=FOLDER`."""
    for at, word in enumerate(words):
        if word.text == "-t":
            return words[at + 1] if at + 1 < len(words) else None
        if word.text.startswith("--target-directory="):
            return Word(word.text.partition("=")[2], readable=word.readable)
    return None


def _inside(folder: Word, file: Word) -> Word:
    """The name that a file gets in a folder; of a pattern only what it matches at its old place is known."""
    name = os.path.basename(file.text.rstrip("/"))  # noqa: PTH119 - pathlib would double the start
    readable = folder.readable and file.readable and file.pattern is None
    return Word(f"{folder.text.rstrip('/')}/{name}", readable=readable)


def _edited(*valued: str) -> Writer:
    """Files edited in place by a script, which is an operand itself unless an option has brought it."""

    def found(words: Sequence[Word], _: IsFolder) -> list[Word]:
        if not any(_IN_PLACE.fullmatch(each.text) for each in words):
            return []
        scripts = [each.text for each in words if _BRINGS_SCRIPT.fullmatch(each.text)]
        return operands_of(words, (*valued, *scripts))[0 if scripts else 1 :]

    return found


def _value_of(*options: str) -> Writer:
    """The value of an option is written."""

    def found(words: Sequence[Word], _: IsFolder) -> list[Word]:
        return [words[at + 1] for at, each in enumerate(words[:-1]) if each.text in options]

    return found


def _dd(words: Sequence[Word], _: IsFolder) -> list[Word]:
    return [Word(each.text[3:], readable=each.readable) for each in words if each.text.startswith("of=")]


WRITERS: Mapping[str, Writer] = {
    "sed": _edited(),
    "gsed": _edited(),
    "perl": _edited("-M", "-I"),
    "tee": _all(),
    "sponge": _all(),
    "rm": _all(),
    "rmdir": _all(),
    "unlink": _all(),
    "shred": _all("-n", "-s"),
    "touch": _all("-d", "-t", "-r"),
    "truncate": _all("-s", "-r"),
    "mv": _moved,
    "cp": _copied,
    "ln": _copied,
    "install": _copied,
    "patch": _all("-p", "-i", "-d", "-o", "-r", "-B", "-D", "-F", "-V"),
    "dd": _dd,
    "curl": _value_of("-o", "--output"),
    "wget": _value_of("-O", "--output-document"),
    "sort": _value_of("-o", "--output"),
}


def _named_paths(words: Sequence[Word]) -> list[Word]:
    """`git checkout REF -- PATH…`: what stands after the dashes, or a lone dot, since other words may be branches."""
    texts = [each.text for each in words]
    return list(words[texts.index("--") + 1 :]) if "--" in texts else [each for each in words if each.text == "."]


def _restored(words: Sequence[Word]) -> list[Word]:
    texts = {each.text for each in words}
    only_the_index = texts & {"--staged", "-S"} and not texts & {"--worktree", "-W"}
    return [] if only_the_index else operands_of(words, ("-s", "--source"))


def _cleaned(words: Sequence[Word]) -> list[Word]:
    forced = any(_FORCED.fullmatch(each.text) for each in words)
    return (operands_of(words, ("-e",)) or [Word(".")]) if forced else []


def _reset(words: Sequence[Word]) -> list[Word]:
    return [Word(".")] if any(each.text == "--hard" for each in words) else []


GIT: Mapping[str, Callable[[Sequence[Word]], list[Word]]] = {
    "mv": operands_of,
    "rm": operands_of,
    "checkout": _named_paths,
    "restore": _restored,
    "reset": _reset,
    "clean": _cleaned,
}


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
        for command in parser.commands(text, self._variables):
            self._enter(command.level)
            yield from self._paths(command.writes, self._folders[-1])
            if words := _bare(command.words):
                yield from self._command(words, command)

    def _enter(self, level: int) -> None:
        del self._folders[level + 1 :]
        while len(self._folders) <= level:
            self._folders.append(self._folders[-1])

    def _command(self, words: Sequence[Word], command: ShellCommand) -> Iterator[str]:
        name, operands = os.path.basename(words[0].text), words[1:]  # noqa: PTH119
        if name in {"cd", "pushd"}:
            self._move(operands_of(operands))
        elif name in _SHELLS or name == "eval":
            yield from self._nested(name, operands)
        elif name in {"apply_patch", "applypatch"} or (name == "git" and operands and operands[0].text == "apply"):
            from tallystick.harnesses.shell import patches

            for patch in [*command.bodies, *(each.text for each in operands if "\n" in each.text)]:
                yield from _absolute(patches.files(patch), self._folders[-1])
        elif name == "git":
            yield from self._git(operands)
        elif found := WRITERS.get(name):
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
        if rest and (verb := GIT.get(rest[0].text)):
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
