"""The commands that change files, and which of their words name what they change."""

from __future__ import annotations

import os
import re

from tallystick.harnesses.shell_words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    IsFolder: TypeAlias = Callable[[Word], bool]
    Writer: TypeAlias = Callable[[Sequence[Word], IsFolder], list[Word]]

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
