"""Templates, styles and scripts as they lie in the package. Addresses of files carry their content's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import cast

from jinja2 import ChainableUndefined, Environment, PackageLoader

from tallystick.surfaces.web import prose, words

TYPES: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    content: bytes
    kind: str
    mark: str
    """Changes with the content."""


@cache
def files() -> Mapping[str, File]:
    found: dict[str, File] = {}
    for entry in resources.files("tallystick.surfaces.web").joinpath("static").iterdir():
        kind = TYPES.get(entry.name.rpartition(".")[2])
        if kind:
            content = entry.read_bytes()
            found[entry.name] = File(content=content, kind=kind, mark=hashlib.sha256(content).hexdigest()[:12])
    return found


@cache
def release() -> str:
    """One mark for all files together: modules import each other by plain name, so they change address together."""
    return hashlib.sha256("".join(sorted(file.mark for file in files().values())).encode()).hexdigest()[:12]


@cache
def templates() -> Environment:
    made = Environment(
        loader=PackageLoader("tallystick.surfaces.web"),
        autoescape=True,
        undefined=ChainableUndefined,
        finalize=words.visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The stubs know only the filters and globals that jinja itself brings.
    cast("dict[str, object]", made.filters).update(words.FILTERS, prose=prose.prose)
    cast("dict[str, object]", made.globals).update(static=f"/static/{release()}")
    return made
