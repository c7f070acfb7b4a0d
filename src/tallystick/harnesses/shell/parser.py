"""Reads a shell command line as far as it can be read without running it: words, redirections, here-documents.

What only the shell could know (a variable nobody set here, a substitution) makes its word unreadable, never a guess.
Loaded for every edit of every agent, so it imports nothing beyond what reading JSON has loaded.
"""

from __future__ import annotations

import re
from collections import ChainMap

from tallystick.harnesses.shell.words import COMMA, OPEN, SHUT, Spelling, Word, braced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
LONGEST_ARITHMETIC = 500
MOST_LOOPED = 10_000
"""Words that the variables of loops are spelled out to."""
DEEPEST = 20
"""Substitutions within substitutions."""


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


_NAME = re.compile(r"[A-Za-z_]\w*")
_ENDS = ";&|\n()"
_SPACE = " \t"
_ORDINARY = re.compile(r"""[^ \t\n;&|()<>'"\\$`*?\[{},~#]+""")
"""A run of letters that mean only themselves."""
_IN_QUOTES = re.compile(r"""[^"\\$`]+""")
_TWO_WORDS = re.compile(r"[\w$)}\]][ \t]+[\w$({./-]")
_GLOB_SIGNS = re.compile(r"([*?[])")


def commands(
    text: str, variables: Mapping[str, str] | None = None, spelling: Spelling | None = None
) -> list[ShellCommand]:
    """The simple commands in their order, those within substitutions before the command that contains them."""
    known = ChainMap[str, str | None]({}, dict(variables or {}))
    return list(_ShellReader(text, known, spelling or Spelling()).read())


class _ShellReader:
    def __init__(
        self, text: str, variables: ChainMap[str, str | None], spelling: Spelling, level: int = 0, depth: int = 0
    ) -> None:
        self._text, self._at, self._level, self._depth = text, 0, level, depth
        self._variables, self._spelling = variables, spelling
        """None for a variable whose value is not known any more."""
        self._lists: dict[str, list[Word]] = {}
        """What the variable of a `for` goes through."""
        self._spelled_out = 0
        self._command = ShellCommand(level)
        self._inner: list[ShellCommand] = []
        self._role = ""
        """What the next word is to the command: a redirection's target, a here-document's end, or an argument."""
        self._documents: list[tuple[ShellCommand, str, bool]] = []
        self._fresh()

    def _fresh(self) -> None:
        self._word, self._glob = list[str](), list[str]()
        self._in_word = self._is_glob = False
        self._readable = True
        self._looped: list[str] = []
        """The variables of loops in this word."""

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
            name = "".join(each.text for each in words[1:2])
            self._variables[name] = None
            self._lists[name] = (
                words[3:] if [each.text for each in words[2:3]] == ["in"] else [Word("", readable=False)]
            )
        elif all(found):
            for word, each in zip(rest, found, strict=True):
                if each:
                    self._lists.pop(each[1], None)
                if each:
                    self._variables[each[1]] = each[2] if word.readable else None

    def _step(self) -> bool:
        """Take one character or construct; True when a command has ended."""
        here = self._text[self._at]
        if here in _SPACE:
            self._end_word()
            self._at += 1
        elif here in "<>" or self._text.startswith("&>", self._at):
            self._redirect()
        elif here == "(" and not self._in_word and self._arithmetic():
            pass
        elif here in _ENDS:
            return self._end_command(here)
        elif here == "#" and not self._in_word:
            self._at = self._until("\n")
        else:
            self._take(here)
        return False

    def _arithmetic(self) -> bool:
        """Skip `((…))`, in which `>` compares; what looks like commands is a subshell in a subshell."""
        if not self._text.startswith("((", self._at):
            return False
        end = self._text.find("))", self._at, self._at + LONGEST_ARITHMETIC)
        inside = self._text[self._at + 2 : max(end, self._at)]
        if end < 0 or "\n" in inside or ";" in inside or _TWO_WORDS.search(inside):
            return False
        self._at = end + 2
        return True

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
        if run := _ORDINARY.match(self._text, self._at - 1):
            self._at = run.end()
            self._literal(run[0])
            return
        self._is_glob |= here in "*?["
        shown = {"{": OPEN, ",": COMMA, "}": SHUT}.get(here, here)
        if here == "~" and not self._in_word and self._text[self._at : self._at + 1] in {"", "/", *_SPACE, *_ENDS}:
            shown = self._known("HOME") or "~"
        self._word.append(shown)
        self._glob.append(shown)
        self._in_word = True

    def _literal(self, text: str) -> None:
        self._word.append(text)
        self._glob.append(_GLOB_SIGNS.sub(r"[\1]", text))
        self._in_word = True

    def _quoted(self) -> None:
        """The inside of double quotes."""
        self._in_word = True
        while self._at < len(self._text):
            if run := _IN_QUOTES.match(self._text, self._at):
                self._at = run.end()
                self._literal(run[0])
                continue
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

    def _known(self, name: str) -> str | None:
        """A value that the shell would take as it is, and that may still be spelled out here."""
        value = self._variables.get(name)
        # The shell would split and match an unquoted value again; one that has nothing to split is simply text.
        if value is None or not self._spelling.allows(len(value)) or any(each in value for each in " \t\n*?["):
            return None
        return value

    def _variable(self, name: str) -> None:
        self._in_word = True
        if name in self._lists:
            self._looped.append(name)
            return
        value = self._known(name)
        if value is None:
            self._readable = False
        else:
            self._literal(value)

    def _nested(self, text: str) -> None:
        self._in_word = True
        if known := self._known(f"$({text.strip()})"):
            self._literal(known)
            return
        self._readable = False
        if self._depth < DEEPEST:
            within, depth = self._variables.new_child(), self._depth + 1
            self._inner += _ShellReader(text, within, self._spelling, self._level + 1, depth).read()

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
        if self._in_word and "".join(self._word).isdecimal():
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
        words = self._words()
        self._fresh()
        if role == "write":
            self._command.writes += words
        elif role == "duplicate":
            self._command.writes += [each for each in words if each.text.rstrip("-").strip("0123456789")]
        elif role in {"document", "indented"}:
            self._documents.append((self._command, words[0].text, role == "indented"))
        elif not role:
            self._command.words += words

    def _words(self) -> list[Word]:
        if not self._looped:
            glob = "".join(self._glob) if self._is_glob else None
            return braced("".join(self._word), glob, self._spelling, readable=self._readable)
        through = self._lists[self._looped[0]]
        self._spelled_out += len(through)
        alone = len(self._looped) == 1 and not self._word and self._readable
        return through if alone and self._spelled_out <= MOST_LOOPED else [Word("", readable=False)]

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
