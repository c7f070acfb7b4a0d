"""Which files a shell command changes: its redirections, and what the commands that we know write.

A command we do not know names nothing. One we know whose files cannot be read from the line is told apart: whoever has
reserved something then has to be warned of it. What is missed here the git guard still sees.
"""

from __future__ import annotations

import os
import re

from tallystick.harnesses.shell import parser, writers
from tallystick.harnesses.shell.parser import ASSIGNMENT
from tallystick.harnesses.shell.words import Spelling, Word
from tallystick.harnesses.shell.writers import TOP, UNKNOWN, operands_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from tallystick.harnesses.shell.parser import ShellCommand

    class Look(Protocol):
        """What only the file system knows."""

        def is_folder(self, path: str) -> bool: ...

        def exists(self, path: str) -> bool: ...

        def matching(self, pattern: str) -> Sequence[str]:
            """The existing paths that a glob pattern stands for."""
            ...


MOST_PATHS = 2000
"""Of one command line; what names more is not read to its end."""
DEEPEST = 8
"""Command lines within command lines."""
LONGEST_PATH = 4096


class FileWrites:
    """What a tool call is about to change."""

    __slots__ = ("paths", "unclear")

    def __init__(self, paths: Iterable[str] = (), unclear: Iterable[str] = ()) -> None:
        self.paths = list(paths)
        self.unclear = list(dict.fromkeys(unclear))
        """The commands that write, and do not say what."""


_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "{", "!", "time", "coproc"})
_WRAPPERS = {
    "sudo": ("-u", "-g", "-C", "-h", "-p"),
    "doas": ("-u",),
    "env": ("-u", "-C", "-S"),
    "nice": ("-n",),
    "timeout": ("-s", "-k"),
    "command": (),
    "builtin": (),
    "exec": ("-a",),
    "nohup": (),
    "busybox": (),
    "stdbuf": ("-i", "-o", "-e"),
    "npx": ("-p", "--package"),
    "bunx": (),
    "uvx": ("--from", "--with"),
}
"""Commands that run the rest of their words, and their options that take a value."""
_RUNNERS = {"uv": "run", "poetry": "run", "pipenv": "run", "hatch": "run", "pdm": "run", "pnpm": "exec", "yarn": "exec"}
"""Likewise, after a verb of their own."""
_SPREADERS = {
    "xargs": ("-I", "-n", "-P", "-L", "-d", "-s", "-a", "-E"),
    "parallel": ("-I", "-n", "-N", "-j", "-a", "-C", "--jobs", "--colsep"),
}
"""Commands that run another one with many arguments, and their options that take a value."""
_EXECUTED = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "script", "su"})
"""What runs a command line that stands after `-c`."""
_DEVICE = re.compile(r"/dev/(?!shm/)")
"""What is no file; below /dev/shm there are."""
_INTERPRETERS = re.compile(r"(python|pypy)[\d.]*|node|deno|bun|ruby|perl|php")
_WRITES = re.compile(
    r"""write|unlink|remove|rename|replace\(|rmtree|rmSync|truncate|copy|move|mkdir|open\([^)]{0,200}['"][rwax+bt]*[wax+]""",
    re.IGNORECASE,
)
"""Something in a program that may change files."""
_SAFE = re.compile(r"[\w@%+=:,./-]+")
_NARROWING = re.compile(r"-(i?name|i?path|i?regex|newer\w*|mtime|mmin|size|user|perm|empty|prune|not|o|or)")


def by(text: str, folder: str, look: Look, variables: Mapping[str, str]) -> FileWrites:
    """What this command line changes when it runs in this folder, by absolute paths."""
    line = _Line(folder, look, variables, Spelling())
    line.read(text)
    return FileWrites(line.paths, line.unclear)


def joined(words: Sequence[str]) -> str:
    """A program's arguments as one command line."""
    return " ".join(word if _SAFE.fullmatch(word) else "'" + word.replace("'", "'\"'\"'") + "'" for word in words)


class _Line:
    def __init__(
        self, folder: str, look: Look, variables: Mapping[str, str], spelling: Spelling, depth: int = 0
    ) -> None:
        self._folders: list[str | None] = [folder]
        """Where each level of subshells is; None once that cannot be told."""
        self._look, self._depth, self._spelling = look, depth, spelling
        known = {"$(pwd)": folder, "$(git rev-parse --show-toplevel)": self._top(folder), "PWD": folder}
        self._variables = {**variables, **known}
        self.paths: dict[str, None] = {}
        self.unclear: list[str] = []

    def read(self, text: str) -> None:
        for command in parser.commands(text, self._variables, self._spelling):
            self._enter(command.level)
            if not command.words or command.words[0].text != "[[":
                # Within those brackets it compares.
                self._write(command.writes, "a redirection")
            if words := _bare(command.words):
                self._command(words, command)

    def _enter(self, level: int) -> None:
        del self._folders[level + 1 :]
        while len(self._folders) <= level:
            self._folders.append(self._folders[-1])

    def _command(self, words: Sequence[Word], command: ShellCommand) -> None:
        name, operands = os.path.basename(words[0].text), words[1:]  # noqa: PTH119
        if name in {"cd", "pushd"}:
            self._move(operands_of(operands))
        elif name in _SHELLS or name == "eval":
            self._nested(name, operands, command.bodies)
        elif name in {"apply_patch", "applypatch", "patch"} and self._patched(operands, command):
            pass
        elif name == "git":
            self._git(operands, command)
        elif name in _SPREADERS:
            self._for_each(name, operands[_past_options(operands, 0, _SPREADERS[name]) :], command)
        elif name in {"find", "fd"}:
            self._find(name, operands, command)
        elif found := writers.WRITERS.get(name):
            self._write(found(operands, self), name)
        if _INTERPRETERS.fullmatch(name):
            self._program(name, operands, command)

    def _patched(self, operands: Sequence[Word], command: ShellCommand) -> bool:
        """Whether the patch itself stands in the line; then it says what it changes."""
        from tallystick.harnesses.shell import tool_calls

        texts = [*command.bodies, *(each.text for each in operands if "\n" in each.text)]
        files = [file for text in texts for file in tool_calls.files(text)]
        self._write([Word(each) for each in files], "patch")
        return bool(files)

    def _nested(self, name: str, operands: Sequence[Word], bodies: Sequence[str]) -> None:
        if name == "eval":
            texts = operands
        else:
            at = next((at for at, each in enumerate(operands) if re.fullmatch(r"-[a-z]*c[a-z]*", each.text)), None)
            texts = operands[at + 1 : at + 2] if at is not None else [Word(body) for body in bodies]
        here = self._folders[-1]
        if not texts:
            return
        if here is None or self._depth == DEEPEST or not all(each.readable for each in texts):
            self.unclear.append(name)
            return
        inner = _Line(here, self._look, self._variables, self._spelling, self._depth + 1)
        inner.read(" ".join(each.text for each in texts))
        self.paths.update(inner.paths)
        self.unclear += inner.unclear

    def _program(self, name: str, operands: Sequence[Word], command: ShellCommand) -> None:
        """A program in the line itself, as an option or a here-document; one in a file is nobody's to read here."""
        inline = [operands[at + 1].text for at, each in enumerate(operands[:-1]) if each.text in {"-c", "-e"}]
        if any(_WRITES.search(text) for text in (*inline, *command.bodies)):
            self.unclear.append(name)

    def _git(self, operands: Sequence[Word], command: ShellCommand) -> None:
        here, at, tree = self._folders[-1], 0, self._folders[-1]
        while at < len(operands) and operands[at].text.startswith("-"):
            option, _, value = operands[at].text.partition("=")
            at += 1
            if option in {"-C", "--work-tree"}:
                word = Word(value) if value else (operands[at] if at < len(operands) else UNKNOWN)
                at += 0 if value else 1
                tree = _join(tree, word)
                here = tree if option == "-C" else here
            elif option in writers.GIT_VALUED and not value:
                at += 1
        verb = operands[at].text if at < len(operands) else ""
        if verb == "apply" and self._patched(operands[at + 1 :], command):
            return
        if found := writers.GIT.get(verb):
            with_tree = self._folders[-1]
            self._folders[-1] = here
            named = found(operands[at + 1 :], self)
            top = None if tree is None else self._top(tree)
            whole = UNKNOWN if top is None else Word(top)
            self._write([whole if each is TOP or each.text == ":/" else each for each in named], f"git {verb}")
            self._folders[-1] = with_tree

    def _for_each(self, name: str, words: Sequence[Word], command: ShellCommand) -> None:
        """A command that is run with files found elsewhere: if it writes, it writes those."""
        words = _bare(words)
        inner = os.path.basename(words[0].text) if words else ""  # noqa: PTH119
        if inner in writers.WRITERS:
            self._command(words, command)
            if writers.WRITERS[inner]([*words[1:], Word("a"), Word("b")], self):
                self.unclear.append(f"{name} {inner}")
        elif inner == "git" or inner in _SHELLS:
            self.unclear.append(f"{name} {inner}")

    def _find(self, name: str, words: Sequence[Word], command: ShellCommand) -> None:
        texts = [each.text for each in words]
        first = next((at for at, each in enumerate(texts) if each[:1] in {"-", "(", "!"}), len(texts))
        executed = next((at for at, each in enumerate(texts) if each in _EXECUTED), None)
        before = len(self.unclear)
        if executed is not None:
            run = [each for each in words[executed + 1 :] if each.text not in {"{}", ";", "+"}]
            self._for_each(f"{name} -exec", run, command)
        elif "-delete" in texts:
            self.unclear.append("find -delete")
        if name == "find" and len(self.unclear) > before and not any(_NARROWING.fullmatch(each) for each in texts):
            # Nothing narrows it down: it is everything below.
            del self.unclear[before:]
            self._write(words[:first] or [writers.HERE], "find")

    def _move(self, operands: Sequence[Word]) -> None:
        to = operands[0] if operands else Word(self._variables.get("HOME", "~"))
        self._folders[-1] = None if to.text == "-" else _join(self._folders[-1], to)

    def is_folder(self, word: Word) -> bool:
        here = self._folders[-1]
        return word.text.endswith("/") or (here is not None and self._look.is_folder(os.path.join(here, word.text)))  # noqa: PTH118

    def exists(self, word: Word) -> bool:
        here = self._folders[-1]
        if word.pattern is not None:
            return True
        return here is not None and "\0" not in word.text and self._look.exists(os.path.join(here, word.text))  # noqa: PTH118

    def _top(self, folder: str) -> str:
        """The working tree that a folder lies in, or itself."""
        above = os.path.normpath(folder)
        while len(above) <= LONGEST_PATH and not self._look.exists(f"{above.rstrip('/')}/.git"):
            if above == os.path.dirname(above):  # noqa: PTH120
                return folder
            above = os.path.dirname(above)  # noqa: PTH120
        return above

    def _write(self, words: Iterable[Word], name: str) -> None:
        here = self._folders[-1]
        for word in words:
            text = word.text if word.pattern is None else word.pattern
            if word.readable and (not text or _DEVICE.match(text)):
                continue
            absolute = _join(here, Word(text, readable=word.readable))
            if absolute is None or len(self.paths) >= MOST_PATHS:
                self.unclear.append(name)
            elif word.pattern is None:
                self.paths[os.path.normpath(absolute)] = None
            else:
                self.paths.update(dict.fromkeys(self._look.matching(os.path.normpath(absolute))))


def _join(folder: str | None, word: Word) -> str | None:
    """Where a path leads; None where it cannot be read, is relative to a folder that is not known, or too long."""
    if not word.readable or (folder is None and not os.path.isabs(word.text)):  # noqa: PTH117
        return None
    path = os.path.join(folder or "", word.text)  # noqa: PTH118
    # No system call takes a longer one.
    return path if len(path) <= LONGEST_PATH else None


def _bare(words: Sequence[Word]) -> Sequence[Word]:
    """The command itself, without keywords, assignments and wrappers before it."""
    at = 0
    while at < len(words):
        name = os.path.basename(words[at].text)  # noqa: PTH119
        after = words[at + 1].text if at + 1 < len(words) else ""
        if name in _KEYWORDS or ASSIGNMENT.fullmatch(words[at].text):
            at += 1
        elif _RUNNERS.get(name) == after or (_INTERPRETERS.fullmatch(name) and after == "-m"):
            at += 2
        elif name in _WRAPPERS:
            at = _past_options(words, at + 1, _WRAPPERS[name])
            at += name == "timeout"  # The duration.
        else:
            break
    return words[at:]


def _past_options(words: Sequence[Word], at: int, valued: Sequence[str]) -> int:
    """Where the first word stands, from there on, that is neither an option nor an option's value."""
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in valued else 1
    return min(at, len(words))
