"""The structure of the source, counted. A limit is what the tree has today: it may be lowered, never raised."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tallystick.hub import registry
from tests.frame.checkout import BENCH, PACKAGE, modules, nodes, shown
from tests.ledger.shapes.everything import golden

LONGEST_MODULE = 400
MODULES = 298
"""Modules of the package, `__init__.py` aside: one for each idea that a reader would look for."""
SINGLE_USERS = 65
"""Those that one other module imports, and nobody else."""
AMBIGUOUS_CLASSES = 0
CASTS = 38
SHORT = 60
SHORT_WITH_ONE_USER = 1
"""Modules of fewer lines than `SHORT` that only one other imports: what is cut by size, not by idea, adds to them."""
STANDARD = {"contract", "errors", "events", "model", "operations", "projections", "queries", "rules"}
"""What every capability's folder has, however little is in it."""
KINDS_OUTSIDE_EVENTS = 2
"""Places outside `events.py` that write a kind of event as text: the two kinds that an inbox may be filtered by."""
ELSEWHERE = {"events": "tallystick.ledger.operations", "open": "tallystick.hub.operations"}
"""Nouns that belong to no capability, and where they are."""

KINDS = {kind for kind, _body in golden()} - registry.OPERATIONS.keys()


def _classes() -> dict[str, list[str]]:
    """Every class at the top of a module, public or private, the measurements' too, and where it is declared."""
    found = dict[str, list[str]]()
    for module in [*modules(), *modules(BENCH)]:
        for node in ast.parse(module.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(shown(module))
    return found


def _kinds(module: Path) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Constant) and node.value in KINDS:
            yield f"{shown(module)}:{node.lineno} {node.value}"


def _calls(module: Path, name: str) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield f"{shown(module)}:{node.lineno}"


def _users() -> dict[Path, set[Path]]:
    """Every module of the package, and the modules that import it or something of it."""
    places = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in modules()}
    users = {path: set[Path]() for path in places.values()}
    for path in users:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    used = places.get(f"{node.module}.{name.name}") or places.get(node.module)
                    if used:
                        users[used].add(path)
    return users


def test_no_module_is_too_long_to_read() -> None:
    sizes = {shown(path): len(path.read_text("utf-8").splitlines()) for path in modules()}

    assert {name: size for name, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_there_is_a_module_for_an_idea_and_no_more() -> None:
    found = [shown(path) for path in modules() if path.name != "__init__.py"]

    assert len(found) <= MODULES


def test_most_modules_serve_more_than_one() -> None:
    alone = [shown(path) for path, by in _users().items() if len(by) == 1]

    assert len(alone) <= SINGLE_USERS, alone


def test_a_short_module_serves_more_than_one() -> None:
    users = _users()
    alone = [
        shown(path)
        for path, by in users.items()
        if len(by) == 1 and path.stem not in STANDARD and len(path.read_text("utf-8").splitlines()) < SHORT
    ]

    assert len(alone) <= SHORT_WITH_ONE_USER, alone


def test_a_class_name_stands_for_one_thing() -> None:
    several = {name: where for name, where in _classes().items() if len(where) > 1}

    assert len(several) <= AMBIGUOUS_CLASSES, several


def test_types_are_known_not_cast() -> None:
    casts = [place for module in modules() for place in _calls(module, "cast")]

    assert len(casts) <= CASTS, casts


def test_a_kind_of_event_is_written_once_where_it_is_declared() -> None:
    elsewhere = [place for module in modules() if module.name != "events.py" for place in _kinds(module)]

    assert len(elsewhere) <= KINDS_OUTSIDE_EVENTS, elsewhere


def test_an_operation_is_declared_where_its_noun_leads() -> None:
    misplaced = {
        name: operation.run.__module__
        for name, operation in registry.OPERATIONS.items()
        if operation.noun not in operation.run.__module__.split(".")
        and operation.run.__module__ != ELSEWHERE.get(operation.noun)
    }

    assert misplaced == {}
