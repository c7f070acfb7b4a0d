"""The operations as the command line needs them, read from a file that `reference` writes from the registry.

So help, completion and the parsing of flags load neither pydantic nor a store.
"""

from __future__ import annotations

import json
import os
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NotRequired, TypedDict

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


FILE = os.path.join(os.path.dirname(__file__), "catalogue.json")  # noqa: PTH118, PTH120 - pathlib would double the start


@cache
def operations() -> dict[str, Shape]:
    with open(FILE, encoding="utf-8") as file:  # noqa: PTH123
        return json.load(file)


@cache
def nouns() -> dict[str, list[str]]:
    """Each noun with its verbs; a verb may have two parts, as in `artifact.put`."""
    found: dict[str, list[str]] = {}
    for name in operations():
        noun, _, verb = name.partition(".")
        found.setdefault(noun, []).append(verb)
    return found
