"""Writes the reference pages from the registry: `python -m tallystick.surfaces.cli.reference`.

Run it in the checkout, because the examples of events are the golden ones of the tests. With `--check` it only says
which files are out of date.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import click

import tallystick
from tallystick.commandline.command import GLOBALS
from tallystick.hub import registry
from tallystick.kernel import errors
from tallystick.kernel.envelope import BODIES, Body
from tallystick.kernel.operation import AnyOperation, Record
from tallystick.surfaces.cli import commands, shapes, tree
from tallystick.surfaces.cli.failures import exit_code

FAMILIES: dict[type[errors.TallyError], tuple[int, str]] = {
    errors.InvalidInput: (400, "The request itself is wrong; sending it again unchanged will not help."),
    errors.NotFound: (404, "The request names something that is not there."),
    errors.NotAllowed: (403, "This caller may not do that."),
    errors.Conflict: (409, "Not in the present state; read the state and decide again."),
    errors.Refused: (400, "None of these families; `method_not_allowed` is HTTP 405."),
    errors.Unavailable: (503, "Nothing was wrong with the request: try again."),
    errors.Fault: (500, "A bug of ours, or a damaged store."),
}
ENVELOPE = {
    "v": "The version of the envelope, 1.",
    "id": "The event's own id, a UUID whose order is that of time.",
    "ts": "When it was committed, ISO-8601 in UTC.",
    "seq": "Its place in its room: 1, 2, 3 … without gaps, in the order of commits.",
    "kind": "What happened.",
    "group_id": "The room's id.",
    "scope_key": "The directory of the room that it came from, or empty.",
    "by": "Who did it: an agent's id, `user`, `system` or a service.",
    "data": "What this kind says, below.",
    "prev_hash, hash": "In an export only: the hash of the event before, and its own over that hash and all the above.",
}
MADE = "<!-- Made by `make docs` from the registry. Change the declarations, not this file. -->"


REFERENCE = Path("docs") / "reference"
GOLDEN = Path("tests") / "ledger" / "shapes" / "bodies.txt"
WRITERS = "each kind and the operations that write it"
"""The block of the golden bodies that says so."""


def pages() -> dict[Path, str]:
    """Every generated file, relative to the checkout, and what it must contain."""
    written = {
        "operations": _operations(),
        "events": _events(),
        "errors": _errors(),
        "cli": _commands(),
        **{f"operations/{noun}": _noun(noun) for noun in nouns()},
    }
    return {REFERENCE / f"{name}.md": "\n".join(lines).rstrip() + "\n" for name, lines in written.items()}


def _cell(text: str) -> str:
    # What stands between backticks is shown as it is; elsewhere an angle bracket would begin a tag.
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))


def _table(headers: list[str], rows: list[list[str]]) -> Iterator[str]:
    if rows:
        yield f"| {' | '.join(headers)} |"
        yield f"|{'---|' * len(headers)}"
        yield from (f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)
        yield ""


def nouns() -> list[str]:
    return sorted({operation.noun for operation in registry.OPERATIONS.values()})


def _of_noun(noun: str) -> dict[str, AnyOperation]:
    return {name: each for name, each in sorted(registry.OPERATIONS.items()) if each.noun == noun}


def _operations() -> Iterator[str]:
    yield from (MADE, "", "# Operations", "")
    yield (
        "An operation has the same name on every surface: `tally call turns.release --input -`, `tally turns release "
        "--field value`, `POST /v1/turns.release`, the bus, and the MCP portals. Each may refuse with `invalid_input`, "
        "`unknown_field` or `too_large` when the input is wrong, and with `room_not_found` when it names a room that "
        "is not there; [errors](errors.md) lists every refusal. What they write is in [events](events.md)."
    )
    yield ""
    for noun in nouns():
        yield from (f"## [{noun}](operations/{noun}.md)", "")
        rows = [[_link(name, "operations/"), operation.summary] for name, operation in _of_noun(noun).items()]
        yield from _table(["operation", ""], rows)


def _link(operation: str, folder: str) -> str:
    noun = registry.OPERATIONS[operation].noun
    return f"[`{operation}`]({folder}{noun}.md#{operation.replace('.', '')})"


def _noun(noun: str) -> Iterator[str]:
    found = _of_noun(noun)
    yield from (MADE, "", f"# {noun}", "")
    yield from ("[All operations](../operations.md)", "")
    for name, operation in found.items():
        yield from _operation(name, operation)
    objects = _objects(found.values())
    if objects:
        yield from ("## Objects", "")
    for name, (model, answer) in sorted(objects.items()):
        yield from (f"### {name}", "")
        yield from _fields(model, answer=answer)


def _operation(name: str, operation: AnyOperation) -> Iterator[str]:
    yield from (f"## {name}", "", operation.doc, "")
    facts = ["Writes" if operation.writes else "Waits" if operation.waits else "Reads"]
    facts.append(f"token's reach `{operation.reach}`")
    facts += [f"`{reach}` with `{name}`" for name, reach in operation.ask.reaches.items()]
    if operation.short:
        facts.append(f"everyday command [`tally {operation.short}`](../cli.md#tally-{operation.short})")
    yield from (f"{'; '.join(facts)}.", "")
    if operation.ask.__struct_fields__:
        yield from ("Input:", "")
        yield from _fields(operation.ask, answer=False)
    for model in shapes.answers(operation):
        yield from (f"Answer `{model.__name__}`:", "")
        yield from _fields(model, answer=True)
    for example in operation.examples:
        yield from ("```console", f"tally call {name} --input '{json.dumps(example)}'", "```", "")


def _fields(model: type[Record], *, answer: bool) -> Iterator[str]:
    rows = list(shapes.rows(model))
    if answer:
        yield from _table(["field", "type", ""], [[f"`{row.name}`", row.type, row.text] for row in rows])
        return
    need = {True: "yes", False: ""}
    yield from _table(
        ["field", "type", "required", ""], [[f"`{row.name}`", row.type, need[row.required], row.text] for row in rows]
    )


def _objects(operations: Iterable[AnyOperation]) -> dict[str, tuple[type[Record], bool]]:
    """The models that inputs and answers are made of; what is in both is shown as an answer."""
    operations = list(operations)
    inputs = {part.__name__: (part, False) for each in operations for part in shapes.parts(each.ask)}
    outputs = {
        part.__name__: (part, True)
        for each in operations
        for model in shapes.answers(each)
        for part in shapes.parts(model)
    }
    return inputs | outputs


def _events() -> Iterator[str]:
    yield from (MADE, "", "# Events", "")
    yield (
        "Every kind of event that Tallystick writes, as it comes in `events.list`, on the event stream, on the bus and "
        "in an export. An event has these fields; what each kind says in `data` follows. A field of `data` that is not "
        "always there is left out when it has no value, or is missing in events from before it was introduced. "
        "`events.append` writes events of your own kinds beside these."
    )
    yield ""
    yield from _table(["field", ""], [[f"`{name.replace(', ', '`, `')}`", text] for name, text in ENVELOPE.items()])
    listed = GOLDEN.read_text("utf-8").partition(f"# {WRITERS}\n")[2].partition("\n\n")[0]
    writers = {kind: names for kind, *names in map(str.split, listed.splitlines())}
    examples = _examples()
    sections = dict[str, list[str]]()
    for kind in sorted(BODIES):
        sections.setdefault(BODIES[kind].__module__, []).append(kind)
    for module, kinds in sorted(sections.items()):
        about = inspect.cleandoc(sys.modules[module].__doc__ or "").split("\n\n")[0]
        yield from (f"## {module.split('.')[-2]}", "", " ".join(about.split()), "")
        for kind in kinds:
            yield from _event(BODIES[kind], writers.get(kind, []), examples.get(kind))
    objects = {part.__name__: part for body in BODIES.values() for part in shapes.parts(body)}
    yield from ("## Objects", "")
    for name, model in sorted(objects.items()):
        yield from (f"### {name}", "", inspect.cleandoc(model.__doc__ or ""), "")
        yield from _body(model)


def _event(body: type[Body], writers: list[str], example: object) -> Iterator[str]:
    yield from (f"### {body.kind}", "", inspect.cleandoc(body.__doc__ or ""), "")
    yield from (f"Written by {', '.join(_link(name, 'operations/') for name in writers)}.", "")
    yield from _body(body)
    yield from ("```json", json.dumps(example, indent=2, ensure_ascii=False), "```", "")


def _body(model: type[Record]) -> Iterator[str]:
    there = {True: "yes", False: ""}
    rows = [[f"`{row.name}`", row.type, there[row.required], row.text] for row in shapes.rows(model)]
    yield from _table(["field", "type", "always there", ""], rows)


def _examples() -> dict[str, object]:
    """Of each kind the golden body that says most; of equals, the first."""
    found = dict[str, dict[str, object]]()
    for line in GOLDEN.read_text("utf-8").split("\n"):
        kind, _, rest = line.partition(" ")
        if "{" in rest and kind != "#":
            body = json.loads(rest[rest.index("{") :])
            if len(body) > len(found.get(kind, {})):
                found[kind] = body
    return dict(found)


def every_error() -> list[type[errors.TallyError]]:
    """Every refusal of the whole package, by code, whichever module declares it."""
    for module in pkgutil.walk_packages(tallystick.__path__, "tallystick."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # A module for another system says so when it is imported.
                importlib.import_module(module.name)
    ours = {kind for kind in errors.every_error() if kind.__module__.startswith("tallystick.")}
    return sorted(ours - FAMILIES.keys(), key=lambda kind: (kind.code, kind.__module__))


def _family(kind: type[errors.TallyError]) -> type[errors.TallyError]:
    """The nearest of the families; what hangs directly below `Refused` is of no narrower one."""
    return next(each for each in kind.__mro__ if each in FAMILIES)


def _errors() -> Iterator[str]:
    yield from (MADE, "", "# Errors", "")
    yield (
        "A refusal has the same code on every surface, a message, a hint that says what to do next, whether the same "
        "request may be retried, and details. HTTP answers with the status of its family, except where it has one for "
        "the case (401, 405, 408, 413, 415, 421, 429, 431); the command line answers with the exit code."
    )
    yield ""
    for family, (status, text) in FAMILIES.items():
        found = [kind for kind in every_error() if _family(kind) is family]
        yield from (f"## {family.__name__}", "", f"HTTP {status}, exit code {exit_code(family())}. {text}", "")
        rows = [[f"`{kind.code}`", kind().message, kind().advice] for kind in found]
        yield from _table(["code", "message", "what to do"], rows)


def _commands() -> Iterator[str]:
    yield from (MADE, "", "# The command line", "")
    yield (
        "Every [operation](operations.md) is a command, `tally NOUN VERB --field value`; the everyday ones have a "
        "short form. PATH is any path in the workspace, by default the current directory, and leads to its room; "
        "`--room` names one."
    )
    yield from ("", "## Options of every command", "")
    yield from _options([option for option in GLOBALS if isinstance(option, click.Option)])
    yield from ("## Exit codes", "")
    codes = ["done", "refused", "wrong usage", "unavailable, try again", "fault", "`wait` and `hold`: not your turn"]
    codes_ = [[str(code), text] for code, text in enumerate(codes)]
    yield from _table(["code", "meaning"], [*codes_, ["130", "interrupted"], ["141", "the reader of the output left"]])
    for title, group in commands.GROUPS.items():
        yield from (f"## {title}", "")
        for name in group:
            yield from (f"### tally {name}", "")
            yield from _command(tree.listed(name), name)


def _command(command: click.Command, name: str) -> Iterator[str]:
    ctx = click.Context(command, info_name=f"tally {name}")
    yield from ("```console", f"tally {name} {' '.join(command.collect_usage_pieces(ctx))}", "```", "")
    yield from (inspect.cleandoc(command.help or ""), "")
    own = [param for param in command.params if isinstance(param, click.Option) and param not in GLOBALS]
    yield from _options(own)
    for verb, below in command.commands.items() if isinstance(command, click.Group) else ():
        yield from (f"#### tally {name} {verb}", "")
        yield from _command(below, f"{name} {verb}")


def _options(options: list[click.Option]) -> Iterator[str]:
    rows = [[f"`{option.opts[0]}`", option.metavar or "", _about(option)] for option in options]
    yield from _table(["option", "value", ""], rows)


def _about(option: click.Option) -> str:
    default = f"[default: {option.default}]" if option.show_default else ""
    return " ".join(filter(None, (option.help, default, f"`${option.envvar}`" if option.envvar else "")))


def main(args: list[str]) -> int:
    written = pages()
    stale = {file: text for file, text in written.items() if not file.is_file() or file.read_text("utf-8") != text}
    left_over = sorted(set(REFERENCE.rglob("*.md")) - written.keys())
    for file in (*stale, *left_over):
        print(file)
        if "--check" in args:
            continue
        if file in stale:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(stale[file], "utf-8")
        else:
            file.unlink()
    return 1 if (stale or left_over) and "--check" in args else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
