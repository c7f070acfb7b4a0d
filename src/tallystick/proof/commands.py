"""What a command's text says: how it ended, in any common spelling, and whether that ending means anything.

Pure. A receipt is the command and a note at its end, as in `pytest -q (exit 0)`, `make -> exit 2`, `npm test
(fehlgeschlagen)`. A note that speaks of any failure makes it a failed one, whatever else it says.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

import msgspec

KEPT = 256
"""Of so many texts it is kept what they say: a job names the same command as its check, as its proof and as seen."""


class CommandReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt, taken apart."""

    command: str
    exit_code: int | None = None
    failed: bool = False
    sha256: str | None = None


_FAILURES = (
    r"fail(?:ed|s|ures?|ing)?|errors?|errored|crash(?:ed)?|killed|aborted|timed? ?out|timeout|non-?zero"
    r"|unsuccessful(?:ly)?|signal \d+|sig(?:kill|term|segv|abrt|int)|segfault|segmentation fault|core dumped"
    r"|panic(?:ked)?|oom|out of memory|ko|nok|not ok|not pass(?:ed|ing)?"
    r"|(?:did|do|does)(?: not|n't) (?:finish|pass|complete|succeed|run)"
    r"|interrupted|cancell?ed|terminated|broken|no tests? (?:ran|run|collected|found)"
    r"|nicht (?:bestanden|durchgelaufen|erfolgreich|gelaufen)|abgestürzt|n'a pas (?:abouti|réussi)"
    r"|fehlgeschlagen|fehlschl[aä]ge?|schl(?:ug|ägt) fehl|fehler(?:haft)?|gescheitert|abgebrochen|abbruch"
    r"|échou(?:é|ée|ées|és|e)|échecs?|erreurs?|plant(?:é|ée)|interrompue?"
    r"|fall(?:ó|ido|ida|idos|idas|aron|os?)|fracas(?:ó|aron)|errores"
)
_FAILED = re.compile(rf"(?:(?<![\w-])(?:{_FAILURES})(?![\w-])|[✗✘✖❌⛔🔴💥🛑])", re.IGNORECASE)
_NO = r"0|no|none|nothing|not|without|zero|keine?r?|nicht|nichts|ohne|sans|aucune?|pas d['e]|sin|ning[uú]na?|cero"
_NONE_FAILED = re.compile(
    rf"(?<![\w-])(?:{_NO})\s+(?:any\s+|un\s+|einen?\s+|tests?\s+)?(?:{_FAILURES})(?![\w-])", re.IGNORECASE
)
_BARE = (
    r"(?:process |command |it )?(?:exit|rc|return|code de|rückgabe|beendet|c[oó]digo|termin|sali[oó])[^\n'\"`]*"
    r"|(?:status|code|ret|errno|\$\?)\s*[:=]\s*-?\d+"
)
_NOTE = re.compile(
    r"\s*(?:[(\[{](?P<inside>[^()\[\]{}]*)[)\]}]"
    r"|\s(?P<mark>[✗✘✖❌⛔🔴💥🛑](?:\s*\d+)?|(?-i:FAIL(?:ED|URES?)?|N?KO|NOK)(?:[\s:=]+\d+)?)"
    rf"|(?:[:;,#]\s*|\s[-—\u2013]+\s*|\s)(?P<count>\d+ (?:tests? )?(?:{_FAILURES})(?:,? \d+ \w+)*)"
    r"|(?:->|=>|→|⇒|⟶|—|\u2013)\s*(?P<arrow>[^\n]*)"
    rf"|(?:[:;,#]\s*|\s)(?P<bare>{_BARE})|(?:[:;#]\s*|\s-+\s)(?P<said>{_FAILURES}))\s*[.!…]*$",
    re.IGNORECASE,
)
_PARTS = ("inside", "mark", "count", "arrow", "bare", "said")
_NUMBERS = r"one|two|three|eins|zwei|un|deux|uno|dos"
_EXIT = re.compile(
    r"(?:\bexit(?:ed|s)?(?:[ _-]?(?:code|status|value))?|\brc|\breturn(?:ed|s)?(?:[ _-]?(?:code|value|status))?"
    r"|\b(?:status|code|ret|errno|errorlevel)|\$\?|\bcode (?:de )?(?:sortie|retour)|\bstatut(?: de sortie)?|\bsortie"
    r"|\b(?:rückgabe|fehler|error)(?:wert|code)|\bbeendet"
    r"|\bc[oó]digo(?: de (?:salida|retorno|error))?|\bsali[oó]|\btermin(?:[oó]|é))"
    r"\s*(?:(?:was|is|of|with|mit|avec|con|war|ist)\b)?\s*(?:code|status|exit)?\s*[:=]*\s*"
    rf"(?P<value>-?\d{{1,10}}|zero|null|zéro|cero|non[- ]?zero|{_NUMBERS})\b",
    re.IGNORECASE,
)
_ZERO = frozenset({"0", "-0", "zero", "null", "zéro", "cero"})
_HOPED = re.compile(
    r"(?<!\$)\?|\b(?:should|would|could|might|assum\w+|presum\w+|hope\w*|probabl[ey]|likely|untested|skipped)\b"
    r"|(?<!as )\bexpected\b|\b(?:not|never) (?:yet )?(?:run|ran|tested|executed|tried)\b"
    r"|\b(?:sollte|würde|vermutlich|wahrscheinlich|ungetestet)\b|(?<!wie )\berwartet\b"
    r"|\bnicht (?:ausgeführt|getestet|gestartet)\b"
    r"|\b(?:devrait|serait|probablement)\b|(?<!comme )\battendue?\b"
    r"|\b(?:pas|non) (?:encore )?(?:lancé|exécuté|testé)e?\b",
    re.IGNORECASE,
)
_SHA = re.compile(r"\bsha256[ :=]*([0-9a-f]{12,64})\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_BRACKETED = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_MINUS = str.maketrans(dict.fromkeys("\u2212\u2013\u2010\u2011", "-"))


@lru_cache(maxsize=KEPT)
def ending(text: str) -> CommandReceipt:
    """The command, and what the note at its end says of how it went; several notes are read one after the other."""
    command, code, failed, sha256 = text.strip(), None, False, None
    while found := _NOTE.search(command):
        note = next(found[part] for part in _PARTS if found[part] is not None)
        codes = _codes(note)
        if found["arrow"] and re.fullmatch(r"-?\d{1,10}", note.strip()):
            codes = [_number(note)]
        sha = _SHA.search(note)
        wrong = bool(_FAILED.search(_NONE_FAILED.sub(" ", note)))
        if not (codes or wrong or sha) or not found.start():
            break
        if not any(codes) and _HOPED.search(note):
            # How it ought to end says nothing of how it ended.
            codes = []
        code = code or next((each for each in codes if each), codes[0] if codes else code)
        failed, sha256 = failed or wrong or bool(code), sha256 or (sha[1].lower() if sha else None)
        command = command[: found.start()].rstrip(" `")
    # A failure with a remark after it, as in `make (exit 2) as before`.
    failed = failed or any(any(_codes(note)) for note in _BRACKETED.findall(_QUOTED.sub(" ", command)))
    return CommandReceipt(command=command, exit_code=code, failed=failed, sha256=sha256)


def _codes(note: str) -> list[int]:
    plain = unicodedata.normalize("NFKC", note).translate(_MINUS)
    return [0 if each["value"].lower() in _ZERO else _number(each["value"]) for each in _EXIT.finditer(plain)]


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 1


_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash", "fish"})
_INTO = re.compile(r"^cd\s+(?:'[^']*'|\"[^\"]*\"|\S+)\s*&&\s*")
_JOINED = re.compile(r"\s*2>&1$")


@lru_cache(maxsize=KEPT)
def plain(text: str) -> str:
    """The command itself: without the shell that a harness wraps it in, a `cd` before it, `2>&1` and a prompt."""
    command = text.strip().strip("`").removeprefix("$ ").strip()
    words = _words(command)
    if len(words) == 3 and PurePosixPath(words[0]).name in _SHELLS and re.fullmatch(r"-[a-z]*c", words[1]):
        command = words[2]
    command = _JOINED.sub("", _INTO.sub("", command.strip()).strip().rstrip(";").strip())
    return command if "\n" in command else " ".join(command.split())


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


_IDLE = frozenset({"true", ":", "echo", "printf", "exit", "sleep", "pwd", "cd", "date", "wait"})
"""Commands that end well whatever was done."""
_LOOKS = frozenset({("git", "status"), ("git", "log")})
_SIGHTS = frozenset(
    [
        *("cat", "head", "tail", "less", "more", "nl", "wc", "ls", "dir", "tree", "find", "stat", "file", "du", "df"),
        *("grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "sort", "uniq", "cut", "tr", "which", "type", "ps"),
        *("whereis", "realpath", "readlink", "basename", "dirname", "whoami", "id", "uname", "hostname", "printenv"),
        *("mkdir", "touch", "cp", "mv", "rm", "ln", "chmod", "chown", "tee", "export", "source"),
    ]
)
"""Programs that look or put away: that one of them ended well says nothing of the work, unless the job asked for it."""
_GIT_SIGHTS = frozenset(
    [
        *("status", "log", "show", "diff", "branch", "remote", "rev-parse", "ls-files", "blame"),
        *("stash", "add", "fetch", "checkout", "switch", "restore"),
    ]
)
_ASKS_GIT = frozenset({"--exit-code", "--quiet", "--check"})
"""With one of these `git diff` answers with its status."""
_OPERATORS = frozenset({"|", "||", "&&", ";", "&", "|&"})
_BEFORE = re.compile(r"(?:\w+=.*|env|command|exec|nice|sudo|time)\Z", re.DOTALL)
"""What may stand before a program's name."""


@lru_cache(maxsize=KEPT)
def inconclusive(text: str) -> str:
    """Why an exit status of 0 says nothing about this command; empty when it does."""
    command = plain(text)
    if "\n" in command and "<<" not in command:
        return "its status is that of its last line"
    tokens = _tokens(command)
    joints = [each for each in tokens if each in _OPERATORS]
    if "&" in joints:
        return "it went on in the background"
    idle = [_idle(part) for part in _parts(tokens)]
    if all(idle):
        return "it cannot fail"
    if ("|" in joints or "|&" in joints) and "pipefail" not in command:
        return "its status is that of the last program in the pipe"
    if ";" in joints and "set -e" not in command:
        return "its status is that of its last part"
    return "it hides how it ended" if "||" in joints and idle[-1] else ""


@lru_cache(maxsize=KEPT)
def looks(text: str) -> bool:
    """Whether a command only looks around or puts things away."""
    return all(_idle(part) or _sight(part) for part in _parts(_tokens(plain(text))))


def _sight(part: Sequence[str]) -> bool:
    program, *rest = part
    if PurePosixPath(program).name == "git":
        return bool(_GIT_SIGHTS.intersection(rest[:1])) and not _ASKS_GIT.intersection(rest)
    return PurePosixPath(program).name in _SIGHTS


def _parts(tokens: Sequence[str]) -> list[list[str]]:
    """The single commands between the operators, each from its program on."""
    parts = [list[str]()]
    for token in tokens:
        if token in _OPERATORS:
            parts.append([])
        elif (word := token.strip("()")) and (parts[-1] or not _BEFORE.match(word)):
            parts[-1].append(word)
    return [part for part in parts if part]


def _idle(part: Sequence[str]) -> bool:
    program, *rest = part
    name = PurePosixPath(program).name
    bare = name == "ls" and all(each.startswith("-") for each in rest)
    return name in _IDLE or bare or (name, *rest[:1]) in _LOOKS


def _tokens(command: str) -> list[str]:
    reader = shlex.shlex(command, posix=True, punctuation_chars="|&;")
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:
        return command.split()
