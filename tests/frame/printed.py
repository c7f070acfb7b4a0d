"""Every `tally …` that somebody may read and type: in the documents, and in whatever the program itself prints."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.frame.checkout import PACKAGE, ROOT, modules

PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not {"reference", "conformance"} & set(page.parts)),
]
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
TEXTS = [*sorted(PACKAGE.rglob("*.md")), *sorted(PACKAGE.rglob("*.html")), *sorted(PACKAGE.rglob("*.js"))]

STAND_INS = {"COMMAND": ["state"], "NOUN": ["turns"], "VERB": ["wait"], "--field": ["--room-id"], "PROGRAM": ["x"]}
"""Words that the documents write for any word of a kind."""
FILLED_IN = "x"
SHELL = {"&&", "&", "|", ">", "<", "2>"}


def typed(page: Path) -> list[str]:
    """The lines after a prompt, as a reader would type them."""
    lines = re.findall(r"^\$ (.*\btally .*)$", page.read_text("utf-8").replace("\\\n", " "), re.MULTILINE)
    return [line for line in lines if re.match(r"(?:[A-Z_]+=\S+ )*tally ", line)]


def mentioned(page: Path) -> list[str]:
    """The commands in the middle of a sentence."""
    return quoted(page.read_text("utf-8"))


def quoted(text: str) -> list[str]:
    return [" ".join(found.split()) for found in re.findall(r"`(tally\s[^`]+)`", text)]


def from_the_program() -> dict[str, set[str]]:
    """What the program's own texts name, each with the files that do."""
    found: dict[str, set[str]] = {}
    for path in modules():
        for text in strings(path):
            for command in (*quoted(text), *bare(text)):
                found.setdefault(command, set()).add(path.name)
    for path in TEXTS:
        text = re.sub(r'" ~ \w+ ~ "|\{\{[^}]*\}\}', "1", path.read_text("utf-8")).replace('\\"', "&quot;")
        shown = re.findall(r'"(?:claude mcp add [^"]*-- )?(tally [^"]+)"|<code>(tally [^<]+)</code>', text)
        for command in (*quoted(text), *("".join(each).replace("&quot;", '"') for each in shown)):
            found.setdefault(command, set()).add(path.name)
    return found


def bare(text: str) -> list[str]:
    """Commands that stand on a line of their own, or after a colon at its end."""
    return [each.strip() for each in re.findall(r"(?:^|: )\s*(tally (?:-|[a-z]+(?: |$))[^`%\n]*)$", text, re.MULTILINE)]


def strings(path: Path) -> Iterator[str]:
    """Every text in a module, with a mark for what is filled in when it runs."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            text = ""
            for part in node.values:
                if isinstance(part, ast.Constant):
                    text += str(part.value)
                elif not text.endswith("tally"):  # There stand options, or none.
                    text += FILLED_IN
            yield text


def words(command: str) -> list[list[str]]:
    """What comes after `tally`, up to a program that is another's, once for each of the words that `a|b` offers."""
    try:
        given = shlex.split(re.sub(r"^(?:[A-Z_]+=\S+ )*tally ", "", command), comments=True)
    except ValueError:
        return []  # A quoted word goes on elsewhere.
    given = list(itertools.takewhile(lambda word: word != "--" and word not in SHELL, given))
    if given and given[-1] == "…" and not (len(given) > 1 and given[-2].startswith("--")):
        given.pop()
    if not given or given[0] == FILLED_IN:
        return []  # Which command that is, is decided when it is printed.
    kinds = [STAND_INS.get(word, word.split("|") if place < 2 else [word]) for place, word in enumerate(given)]
    return [list(each) for each in itertools.product(*kinds)]
