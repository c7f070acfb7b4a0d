"""Reads a shell command line as far as it can be read without running it: words, redirections, here-documents.

What only the shell could know (a variable nobody set here, a substitution) makes its word unreadable, never a guess.
Loaded for every edit of every agent, so it imports nothing beyond what reading JSON has loaded.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
OPEN, COMMA, SHUT = "\ue000", "\ue001", "\ue002"
"""Stand for unquoted `{`, `,` and `}` until the word is whole."""
MOST_BRACES = 4
"""Pairs in one word; more would multiply beyond what anybody writes by hand."""
_BRACES = re.compile(f"{OPEN}([^{OPEN}{SHUT}]*{COMMA}[^{OPEN}{SHUT}]*){SHUT}")


class Word:
    """One word: its text, the same as a glob pattern where it is one, and whether it could be read at all."""

    __slots__ = ("pattern", "readable", "text")

    def __init__(self, text: str, pattern: str | None = None, *, readable: bool = True) -> None:
        self.text, self.pattern, self.readable = text, pattern, readable


class ShellCommand:
    """A simple command. `level` counts the subshells around it."""

    __slots__ = ("bodies", "level", "words", "writes")

    def __init__(self, level: int) -> None:
        self.level = level
        self.words: list[Word] = []
        self.writes: list[Word] = []
        """Where its output is redirected to."""
        self.bodies: list[str] = []
        """The texts of its here-documents."""


def braced(text: str, glob: str | None, *, readable: bool) -> list[Word]:
    """The word, or the words that its braces stand for."""
    found, in_glob = _BRACES.search(text), _BRACES.search(glob) if glob else None
    readable = readable and text.count(OPEN) <= MOST_BRACES
    if not found or not readable:
        return [Word(_spelled(text), _spelled(glob) if glob else None, readable=readable)]
    words = list[Word]()
    for number, part in enumerate(found[1].split(COMMA)):
        same = in_glob[1].split(COMMA)[number] if in_glob else ""
        words += braced(
            text[: found.start()] + part + text[found.end() :],
            glob[: in_glob.start()] + same + glob[in_glob.end() :] if glob and in_glob else None,
            readable=readable,
        )
    return words


def _spelled(text: str) -> str:
    return text.replace(OPEN, "{").replace(COMMA, ",").replace(SHUT, "}")


_NAME = re.compile(r"[A-Za-z_]\w*")
_ENDS = ";&|\n()"
_SPACE = " \t"


def commands(text: str, variables: Mapping[str, str] | None = None) -> list[ShellCommand]:
    """The simple commands in their order, those within substitutions before the command that contains them."""
    return list(_ShellReader(text, variables or {}).read())


class _ShellReader:
    def __init__(self, text: str, variables: Mapping[str, str], level: int = 0) -> None:
        self._text, self._at, self._level = text, 0, level
        self._variables = dict(variables)
        self._command = ShellCommand(level)
        self._inner: list[ShellCommand] = []
        self._role = ""
        """What the next word is to the command: a redirection's target, a here-document's end, or an argument."""
        self._documents: list[tuple[ShellCommand, str, bool]] = []
        self._fresh()

    def _fresh(self) -> None:
        self._word, self._glob = "", ""
        self._in_word = self._is_glob = False
        self._readable = True

    def read(self) -> Iterator[ShellCommand]:
        while self._at < len(self._text):
            if self._step():
                yield from self._ended()
        self._end_word()
        yield from self._ended()

    def _ended(self) -> Iterator[ShellCommand]:
        yield from self._inner
        if self._command.words or self._command.writes or self._command.bodies:
            self._assign(self._command.words)
            yield self._command
        self._inner, self._command = [], ShellCommand(self._level)

    def _assign(self, words: list[Word]) -> None:
        """A command that only sets variables sets them for those after it."""
        rest = words[1:] if words and words[0].text in {"export", "declare", "local", "readonly"} else words
        found = [ASSIGNMENT.fullmatch(each.text) for each in rest]
        if words and words[0].text == "for":
            self._variables.pop("".join(each.text for each in words[1:2]), None)
        elif all(found):
            for word, each in zip(rest, found, strict=True):
                if each and word.readable:
                    self._variables[each[1]] = each[2]
                elif each:
                    self._variables.pop(each[1], None)

    def _step(self) -> bool:
        """Take one character or construct; True when a command has ended."""
        here = self._text[self._at]
        if here in _SPACE:
            self._end_word()
            self._at += 1
        elif here in "<>" or self._text.startswith("&>", self._at):
            self._redirect()
        elif here in _ENDS:
            return self._end_command(here)
        elif here == "#" and not self._in_word:
            self._at = self._until("\n")
        else:
            self._take(here)
        return False

    def _end_command(self, here: str) -> bool:
        self._end_word()
        self._at += 1
        if here == "\n":
            self._read_documents()
        elif here in "()":
            # What is open already belongs to the level it began on.
            self._level = max(0, self._level + (1 if here == "(" else -1))
        return True

    def _take(self, here: str) -> None:
        self._at += 1
        if here == "'":
            end = self._until("'")
            self._literal(self._text[self._at : end])
            self._at = end + 1
        elif here == '"':
            self._quoted()
        elif here == "\\":
            if self._text[self._at : self._at + 1] != "\n":
                self._literal(self._text[self._at : self._at + 1])
            self._at += 1
        elif here in "$`":
            self._expansion(here)
        else:
            self._plain(here)

    def _plain(self, here: str) -> None:
        self._is_glob |= here in "*?["
        shown = {"{": OPEN, ",": COMMA, "}": SHUT}.get(here, here)
        if here == "~" and not self._in_word and self._text[self._at : self._at + 1] in {"", "/", *_SPACE, *_ENDS}:
            shown = self._variables.get("HOME", "~")
        self._word += shown
        self._glob += shown
        self._in_word = True

    def _literal(self, text: str) -> None:
        self._word += text
        self._glob += re.sub(r"([*?[])", r"[\1]", text)
        self._in_word = True

    def _quoted(self) -> None:
        """The inside of double quotes."""
        self._in_word = True
        while self._at < len(self._text):
            here = self._text[self._at]
            self._at += 1
            if here == '"':
                return
            if here == "\\" and self._text[self._at : self._at + 1] in {'"', "\\", "$", "`", "\n"}:
                self._literal(self._text[self._at].strip("\n"))
                self._at += 1
            elif here in "$`":
                self._expansion(here)
            else:
                self._literal(here)

    def _expansion(self, here: str) -> None:
        """`$name`, `${name}`, `$'…'`, `$(…)`, `$((…))` and the old form in backquotes."""
        text, at = self._text, self._at
        if here == "`":
            end = self._until("`")
            self._nested(text[at:end].replace("\\`", "`"))
            self._at = end + 1
        elif text.startswith("(", at):
            inner = self._parenthesis()
            self._nested("" if inner.startswith("(") else inner)
        elif text.startswith("'", at):
            end = self._until("'", 1)
            self._literal(text[at + 1 : end])
            self._at = end + 1
        elif text.startswith("{", at):
            end = self._until("}")
            self._variable(text[at + 1 : end])
            self._at = end + 1
        elif found := _NAME.match(text, at):
            self._variable(found[0])
            self._at = found.end()
        else:
            self._literal("$")

    def _variable(self, name: str) -> None:
        value = self._variables.get(name)
        self._in_word = True
        # The shell would split and match an unquoted value again; one that has nothing to split is simply text.
        if value is None or any(each in value for each in " \t\n*?["):
            self._readable = False
        else:
            self._literal(value)

    def _nested(self, text: str) -> None:
        self._inner += _ShellReader(text, self._variables, self._level + 1).read()
        self._readable, self._in_word = False, True

    def _parenthesis(self) -> str:
        """What stands between the bracket here and its partner; quotes hide brackets."""
        depth, start, quote = 0, self._at + 1, ""
        while self._at < len(self._text):
            here = self._text[self._at]
            self._at += 1
            if here == "\\" and quote != "'":
                self._at += 1
            elif quote:
                quote = "" if here == quote else quote
            elif here in "'\"":
                quote = here
            elif here in "()":
                depth += 1 if here == "(" else -1
                if not depth:
                    return self._text[start : self._at - 1]
        return self._text[start:]

    def _until(self, mark: str, after: int = 0) -> int:
        end = self._text.find(mark, self._at + after)
        return len(self._text) if end < 0 else end

    def _redirect(self) -> None:
        if self._in_word and self._word.isdecimal():
            self._fresh()  # The number of the stream, not a word.
        self._end_word()
        if self._text.startswith(("<(", ">("), self._at):
            self._at += 1
            self._nested(self._parenthesis())
            return
        operator = next(each for each in _REDIRECTIONS if self._text.startswith(each, self._at))
        self._at += len(operator)
        self._role = _REDIRECTIONS[operator]

    def _end_word(self) -> None:
        if not self._in_word:
            return
        role, self._role = self._role, ""
        words = braced(self._word, self._glob if self._is_glob else None, readable=self._readable)
        self._fresh()
        if role == "write":
            self._command.writes += words
        elif role == "duplicate":
            self._command.writes += [each for each in words if each.text.rstrip("-").strip("0123456789")]
        elif role in {"document", "indented"}:
            self._documents.append((self._command, words[0].text, role == "indented"))
        elif not role:
            self._command.words += words

    def _read_documents(self) -> None:
        """The bodies of the here-documents that the line just ended has begun."""
        documents, self._documents = self._documents, []
        for command, mark, indented in documents:
            lines = list[str]()
            while self._at < len(self._text):
                end = self._until("\n")
                line = self._text[self._at : end]
                self._at = end + 1
                if (line.lstrip("\t") if indented else line) == mark:
                    break
                lines.append(line)
            command.bodies.append("\n".join(lines))


_REDIRECTIONS = {
    "&>>": "write",
    "&>": "write",
    "<<<": "read",
    "<<-": "indented",
    "<<": "document",
    "<>": "write",
    "<&": "read",
    "<": "read",
    ">>": "write",
    ">|": "write",
    ">&": "duplicate",
    ">": "write",
}
"""Longest first."""
