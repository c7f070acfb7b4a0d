"""The operations as the command line needs them: their names, their words and their fields.

They are the registry's, which takes too long to load for help, completion and the parsing of flags. So they are kept:
made at first use, in a checkout beside the bytecode, else in the person's cache folder, and made again as soon as a
source file is another. Where nothing can be written they are made every time.
"""

from __future__ import annotations

import marshal
import os
import sys
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, NotRequired, TypeAlias, TypedDict

    Kind = Literal["text", "integer", "number", "boolean", "choice", "path", "json"]

    class Field(TypedDict):
        name: str
        kind: Kind
        help: str
        required: NotRequired[bool]
        many: NotRequired[bool]
        choices: NotRequired[list[str]]
        default: NotRequired[object]

    class Shape(TypedDict):
        summary: str
        doc: str
        fields: list[Field]

    Shapes: TypeAlias = dict[str, Shape]
    Sources: TypeAlias = list[tuple[str, int, int]]

# pathlib and json would double the start.
HERE = os.path.dirname(__file__)  # noqa: PTH120
PACKAGE = os.path.dirname(os.path.dirname(HERE))  # noqa: PTH120
OUTSIDE = {"bus", "client", "commandline", "demo", "harnesses", "runner", "runtime", "server", "storage", "surfaces"}
"""What stands above the hub, beside all of it, or below what operations say cannot be part of an operation's shape."""

INSTALLED = {"site-packages", "dist-packages"}
"""Folders whose packages were put there by an installer."""


@cache
def operations() -> Shapes:
    sources = _sources()
    for file in _files():
        found = _read(file, sources)
        if found is not None:
            return found
    made = _made()
    for file in _files():
        if _written(file, sources, made):
            break
    return made


@cache
def nouns() -> dict[str, list[str]]:
    """Each noun with its verbs; a verb may have two parts, as in `artifact.put`."""
    found: dict[str, list[str]] = {}
    for name in operations():
        noun, _, verb = name.partition(".")
        found.setdefault(noun, []).append(verb)
    return found


def _made() -> Shapes:
    from tallystick.hub import registry
    from tallystick.surfaces.cli import shapes

    return {name: shapes.shape(operation) for name, operation in sorted(registry.OPERATIONS.items())}


def _files() -> Iterator[str]:
    """Where they may be kept, best first."""
    name = f"{sys.implementation.cache_tag}.catalogue"
    beside = __spec__.cached if __spec__ else None
    # What an installer did not write it leaves behind when it takes the package away.
    if beside and os.path.basename(os.path.dirname(PACKAGE)) not in INSTALLED:  # noqa: PTH119, PTH120
        yield f"{os.path.dirname(beside)}/{name}"  # noqa: PTH120
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    yield f"{home}/tallystick{HERE}/{name}"


def _sources() -> Sources:
    """Every file that an operation may be made of, as it is now."""
    found, folders = [_stamp(f"{HERE}/shapes.py")], [PACKAGE]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(_stamp(entry.path))
                elif "." not in entry.name and entry.name not in OUTSIDE and entry.is_dir():
                    folders.append(entry.path)
    return sorted(found)


def _stamp(path: str) -> tuple[str, int, int]:
    facts = os.stat(path)  # noqa: PTH116
    return path, facts.st_mtime_ns, facts.st_size


def _read(file: str, sources: Sources) -> Shapes | None:
    """What is kept there, if it was made of these sources."""
    try:
        with open(file, "rb") as kept:  # noqa: PTH123
            # Read at once: marshal would ask the file for every few bytes.
            made_of, found = marshal.loads(kept.read())  # noqa: S302 - it is ours, like the bytecode beside it
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return found if made_of == sources else None


def _written(file: str, sources: Sources, made: Shapes) -> bool:
    """Whether it could be kept there. Others see all of it or nothing."""
    new = f"{file}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)  # noqa: PTH103, PTH120
        with open(new, "wb") as kept:  # noqa: PTH123
            marshal.dump((sources, made), kept)
        os.replace(new, file)  # noqa: PTH105
    except OSError:
        return False
    return True
