"""Every refusal that the source declares stands in the reference, once; read from the source, not by its generator."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from tests.frame.checkout import ROOT, modules, nodes, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A class of an error, as its module writes it down."""

    name: str
    bases: frozenset[str]
    code: str
    place: str


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _code(made: ast.ClassDef) -> str:
    """What it gives itself, or its name in snake case."""
    for line in made.body:
        match line:
            case ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code))):
                return code
            case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
                return code
            case _:
                pass
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", made.name).lower()


def declared() -> list[Declared]:
    """The error classes of the package: all that derive from `TallyError`, by name, over any number of steps."""
    classes = [
        Declared(
            name=node.name,
            bases=frozenset(map(_name, node.bases)),
            code=_code(node),
            place=f"{shown(path)}:{node.lineno}",
        )
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    ]
    errors, names = list[Declared](), {"TallyError"}
    while found := [each for each in classes if each not in errors and each.bases & names]:
        errors += found
        names |= {each.name for each in found}
    return errors


def refusals() -> list[Declared]:
    """Those that nothing is derived from: what is raised and answered."""
    errors = declared()
    families = {base for each in errors for base in each.bases}
    return [each for each in errors if each.name not in families]


def test_every_refusal_is_in_the_reference_and_nothing_else() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")

    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)

    assert sorted(listed) == sorted(each.code for each in refusals())


def test_one_code_is_one_class() -> None:
    places: dict[str, list[str]] = {}
    for each in refusals():
        places.setdefault(each.code, []).append(f"{each.name} in {each.place}")

    assert {code: found for code, found in places.items() if len(found) > 1} == {}


def test_a_family_is_never_raised_itself() -> None:
    families = {each.name for each in declared()} - {each.name for each in refusals()}
    raised = [
        f"{shown(path)}:{node.lineno} raises {_name(what)}"
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Raise) and node.exc
        for what in [node.exc.func if isinstance(node.exc, ast.Call) else node.exc]
        if _name(what) in families
    ]

    assert raised == []
