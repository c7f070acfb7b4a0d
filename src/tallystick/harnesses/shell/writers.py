"""The commands that write, move or remove files, and which of their words name those files.

`UNKNOWN` among the words says that a command writes what cannot be read from it.
"""

from __future__ import annotations

import os
import re

from tallystick.harnesses.shell.words import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol, TypeAlias

    class Disk(Protocol):
        """What only the file system knows, of the folder that the command runs in."""

        def is_folder(self, word: Word) -> bool: ...

        def exists(self, word: Word) -> bool: ...

    Writer: TypeAlias = Callable[[Sequence[Word], Disk], list[Word]]

UNKNOWN = Word("", readable=False)
HERE = Word(".")
TOP = Word("/")
"""In what a git command changes: the whole working tree, wherever in it the command runs."""

_BRINGS_SCRIPT = re.compile(r"-[a-zA-Z]*[eEf]|--(expression|file)")
_ONLY_LOOKS = frozenset({"--check", "--diff", "--list-different", "-l", "-d", "--dry-run"})
_FORCED = re.compile(r"-[a-zA-Z]*f[a-zA-Z]*|--force")


def operands_of(words: Sequence[Word], valued: Iterable[str] = ()) -> list[Word]:
    """The words that are neither options nor the values of those that take one."""
    kept, at, valued = list[Word](), 0, frozenset(valued)
    while at < len(words):
        word = words[at]
        at += 1
        if word.text == "--" and word.readable:
            return [*kept, *words[at:]]
        if not word.text.startswith("-") or word.text == "-":
            kept.append(word)
        elif word.text in valued:
            at += 1
    return kept


def _all(*valued: str) -> Writer:
    """Every operand is written."""
    return lambda words, _: operands_of(words, valued)


def _moved(words: Sequence[Word], disk: Disk) -> list[Word]:
    """What is moved is gone from its old name and new under the other."""
    sources = operands_of(words, ("-t", "-S"))
    return [*(sources if _into(words) else sources[:-1]), *_copied(words, disk)]


def _copied(words: Sequence[Word], disk: Disk) -> list[Word]:
    """The file that a copy is written to; within a folder it keeps its name."""
    operands = operands_of(words, ("-t", "-S", "-m", "-o", "-g", "-e", "--exclude"))
    to = _into(words)
    if to is None:
        if len(operands) < 2:
            return []
        *operands, to = operands
        if len(operands) == 1 and not disk.is_folder(to):
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


def _edited(flags: str, *valued: str) -> Writer:
    """Files edited in place by a script, which is an operand itself unless an option has brought it.

    `flags` may stand before the `i` of an option: any other letter takes what follows it as its value.
    """
    in_place = rf"(?s:-[{flags}]*i.*|--in-?place(=.*)?)"

    def found(words: Sequence[Word], _: Disk) -> list[Word]:
        if not any(re.fullmatch(in_place, each.text) for each in words):
            return []
        scripts = [each.text for each in words if _BRINGS_SCRIPT.fullmatch(each.text)]
        return operands_of(words, (*valued, *scripts))[0 if scripts else 1 :]

    return found


def _awk(words: Sequence[Word], _: Disk) -> list[Word]:
    texts = [each.text for each in words]
    if "inplace" not in texts or texts[texts.index("inplace") - 1] != "-i":
        return []
    brought = "-f" in texts
    return operands_of(words, ("-i", "-f", "-v", "-F"))[0 if brought else 1 :]


def _value_of(*options: str) -> Writer:
    """The value of an option is written, whether it stands beside it or is joined to it."""

    def found(words: Sequence[Word], _: Disk) -> list[Word]:
        named = [words[at + 1] for at, each in enumerate(words[:-1]) if each.text in options]
        for option in options:
            joined = f"{option}=" if option.startswith("--") else option
            named += [
                Word(each.text[len(joined) :], readable=each.readable)
                for each in words
                if each.text.startswith(joined) and len(each.text) > len(joined) and each.text not in options
            ]
        return named

    return found


def _dd(words: Sequence[Word], _: Disk) -> list[Word]:
    return [Word(each.text[3:], readable=each.readable) for each in words if each.text.startswith("of=")]


def _patched(words: Sequence[Word], _: Disk) -> list[Word]:
    """The file that is named; without one the patch names them."""
    if any(each.text == "--dry-run" for each in words):
        return []
    return operands_of(words, ("-p", "-i", "-d", "-o", "-r", "-B", "-D", "-F", "-V"))[:1] or [UNKNOWN]


def _unpacked(*marks: str) -> Writer:
    """What an archive holds is not known."""
    return lambda words, _: (
        [UNKNOWN] if not marks or any(re.match(mark, each.text) for each in words for mark in marks) else []
    )


def _formatted(*asked: str, whole: bool = True, verbs: Iterable[str] = (), valued: Iterable[str] = ()) -> Writer:
    """A formatter writes its operands if it is asked to; without any, often everything below."""
    verbs, valued = frozenset(verbs), tuple(valued)

    def found(words: Sequence[Word], _: Disk) -> list[Word]:
        texts = {each.text for each in words}
        if asked and not texts.intersection(asked):
            return []
        if texts & _ONLY_LOOKS:
            return []
        named = operands_of(words, valued)
        if verbs and named and named[0].text in verbs:
            named = named[1:]
        return named or ([HERE] if whole else [])

    return found


def _below(*asked: str) -> Writer:
    """Everything below the folder is written, if it is asked for; its operands are no files."""

    def found(words: Sequence[Word], _: Disk) -> list[Word]:
        texts = {each.text for each in words}
        return [HERE] if texts.intersection(asked) and not texts & _ONLY_LOOKS else []

    return found


def _ruff(words: Sequence[Word], disk: Disk) -> list[Word]:
    verb = next((each.text for each in words if not each.text.startswith("-")), "")
    asked = () if verb == "format" else ("--fix", "--fix-only", "--unsafe-fixes")
    return _formatted(*asked, verbs=("format", "check"), valued=("--select", "--ignore", "--config"))(words, disk)


WRITERS: Mapping[str, Writer] = {
    **dict.fromkeys(("sed", "gsed"), _edited("nErsuz")),
    "perl": _edited("acglnpstuwTUWX0-9", "-M", "-I"),
    "ruby": _edited("alnpswW0-9", "-r", "-I"),
    "awk": _awk,
    "gawk": _awk,
    "tee": _all(),
    "sd": lambda words, _: operands_of(words, ("-n", "-f"))[2:],
    **dict.fromkeys(("ex", "ed", "vi", "vim", "nvim"), _all("-c", "-sc", "-S", "-u", "-s", "--cmd")),
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
    "link": _copied,
    "install": _copied,
    "rsync": _copied,
    "scp": _copied,
    "patch": _patched,
    "dd": _dd,
    "curl": _value_of("-o", "--output"),
    "wget": _value_of("-O", "--output-document"),
    "sort": _value_of("-o", "--output"),
    "tar": _unpacked(r"-?[a-zA-Z]*x", "--extract", "--get"),
    "unzip": _unpacked(),
    "cpio": _unpacked(r"-[a-zA-Z]*i", "--extract"),
    "black": _formatted(),
    "isort": _formatted(),
    "autopep8": _formatted("-i", "--in-place"),
    "yapf": _formatted("-i", "--in-place"),
    "ruff": _ruff,
    "prettier": _formatted("--write", "-w"),
    "eslint": _formatted("--fix"),
    "biome": _formatted("--write", "--apply", verbs=("format", "check", "lint")),
    "gofmt": _formatted("-w", valued=("-r",)),
    "goimports": _formatted("-w", valued=("-local",)),
    "gofumpt": _formatted("-w"),
    "rustfmt": _formatted(whole=False),
    "clang-format": _formatted("-i", whole=False),
    "shfmt": _formatted("-w", valued=("-i",)),
    "cargo": _below("fmt", "fix", "--fix"),
    "go": _below("fmt", "fix"),
    "mix": _below("format"),
    "terraform": _below("fmt"),
    "dprint": _below("fmt"),
    "dart": _formatted("format", "fix", verbs=("format", "fix")),
    "stylelint": _formatted("--fix"),
    "markdownlint": _formatted("--fix", "-f"),
    "djlint": _formatted("--reformat"),
    "sqlfluff": _formatted("fix", "format", verbs=("fix", "format"), valued=("--dialect",)),
    "autoflake": _formatted("-i", "--in-place"),
    "pyupgrade": _formatted(whole=False),
    "2to3": _formatted("-w"),
    "yq": _edited("CMNPejnrs"),
    "pre-commit": _unpacked(r"run"),
}


def _checked_out(words: Sequence[Word], disk: Disk) -> list[Word]:
    """Files taken from a commit: those after the dashes, or whatever is a file; a switch changes nobody knows what."""
    texts = [each.text for each in words]
    if "--" in texts:
        return list(words[texts.index("--") + 1 :])
    operands = operands_of(words, ("-b", "-B", "--orphan", "--conflict"))
    if any(_FORCED.fullmatch(each) for each in texts) and not any(disk.exists(each) for each in operands):
        return [TOP]
    files = [each for each in operands if each.readable and (each.text == "." or disk.exists(each))]
    if files or not operands or any(not each.readable for each in operands):
        return files or ([UNKNOWN] if operands else [])
    created = {"-b", "-B", "--orphan"}.intersection(texts)
    return [] if created and not operands else [UNKNOWN]


def _switched(words: Sequence[Word], _: Disk) -> list[Word]:
    texts = {each.text for each in words}
    if texts & {"-f", "--force", "--discard-changes"}:
        return [TOP]
    created = texts & {"-c", "-C", "--create", "--orphan"}
    return [] if created and not operands_of(words, ("-c", "-C", "--create", "--orphan")) else [UNKNOWN]


def _restored(words: Sequence[Word], _: Disk) -> list[Word]:
    texts = {each.text for each in words}
    only_the_index = texts & {"--staged", "-S"} and not texts & {"--worktree", "-W"}
    return [] if only_the_index else operands_of(words, ("-s", "--source"))


def _cleaned(words: Sequence[Word], _: Disk) -> list[Word]:
    forced = any(_FORCED.fullmatch(each.text) for each in words)
    return (operands_of(words, ("-e",)) or [HERE]) if forced else []


def _reset(words: Sequence[Word], _: Disk) -> list[Word]:
    return [TOP] if {"--hard", "--merge", "--keep"}.intersection(each.text for each in words) else []


def _stashed(words: Sequence[Word], _: Disk) -> list[Word]:
    """A stash takes everybody's uncommitted work away, unless it is told what to take."""
    verb = words[0].text if words else "push"
    if verb in {"list", "show", "drop", "clear", "create", "store"}:
        return []
    if verb in {"pop", "apply", "branch"}:
        return [UNKNOWN]
    named = operands_of(words, ("-m", "--message"))
    return [each for each in named if each.text not in {"push", "save"}] if verb == "push" and named[1:] else [TOP]


def _unknown(words: Sequence[Word], _: Disk) -> list[Word]:
    """Changes whatever a commit changed."""
    return [] if {"--abort", "--quit", "--help", "-h"}.intersection(each.text for each in words) else [UNKNOWN]


def _applied(words: Sequence[Word], _: Disk) -> list[Word]:
    looks = {"--check", "--stat", "--numstat", "--summary", "--cached"}
    return [] if looks.intersection(each.text for each in words) else [UNKNOWN]


def _all_named(words: Sequence[Word], _: Disk) -> list[Word]:
    return operands_of(words)


GIT: Mapping[str, Writer] = {
    "mv": _all_named,
    "rm": _all_named,
    "checkout": _checked_out,
    "switch": _switched,
    "restore": _restored,
    "reset": _reset,
    "clean": _cleaned,
    "stash": _stashed,
    "apply": _applied,
    "bisect": lambda words, _: [UNKNOWN] if words and words[0].text in {"good", "bad", "reset", "run", "skip"} else [],
    "submodule": lambda words, _: [UNKNOWN] if "update" in {each.text for each in words} else [],
    **dict.fromkeys(
        ("merge", "pull", "rebase", "revert", "cherry-pick", "am", "read-tree", "checkout-index"), _unknown
    ),
}
GIT_VALUED = frozenset({"-c", "--git-dir", "--namespace", "--config-env", "--attr-source", "--exec-path"})
"""Options before the verb whose value is the next word; `-C` and `--work-tree` say where."""
