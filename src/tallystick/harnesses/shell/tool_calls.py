"""Which files a tool call is about to change, as far as that can be read from its input.

Tools of all three harnesses in one table: those that name a file, those that carry a patch, and the shell. Pure but for
`Look`, through which the file system answers the two questions that a command line leaves open.
"""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.harnesses.shell.file_writes import FileWrites, Look


_AGENT = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)
_DIFF = re.compile(r"^(?:--- |\+\+\+ |rename from |rename to |copy to )(.+?)(?:\t.*)?$", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@.*$", re.MULTILINE)
_QUOTED = re.compile(r'"(.*)"')


def files(text: str) -> list[str]:
    """The files in the order of their first mention, each once; relative as the patch has them."""
    found = [path.strip() for path in _AGENT.findall(text)]
    if not found:
        found = [path for line in _DIFF.findall(_without_hunks(text)) if (path := _in_diff(line))]
    return list(dict.fromkeys(found))


def _without_hunks(text: str) -> str:
    """A removed line that begins with `-- ` looks like a header; the hunk's own count says where it ends."""
    kept, at = list[str](), 0
    while hunk := _HUNK.search(text, at):
        kept.append(text[at : hunk.start()])
        old, new = (int(count or 1) for count in hunk.groups())
        at = hunk.end() + 1
        while (old > 0 or new > 0) and at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            mark = text[at : at + 1]
            old -= mark in {"-", " ", "", "\n"}
            new -= mark in {"+", " ", "", "\n"}
            at = end + 1
    return "".join([*kept, text[at:]])


def _in_diff(name: str) -> str:
    if quoted := _QUOTED.fullmatch(name):
        name = quoted[1].replace('\\"', '"').replace("\\\\", "\\")
    if name == "/dev/null":
        return ""
    return name[2:] if name.startswith(("a/", "b/")) else name


LONGEST_PATH = 4096

FILE_TOOLS = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
    "write_file": "file_path",
    "replace": "file_path",
}
"""Tools that change one file, and the field that names it."""

PATCH_TOOLS = {"apply_patch": ("command", "input", "patch")}
SHELL_TOOLS = {
    "Bash": ("command",),
    "run_shell_command": ("command",),
    "shell": ("command",),
    "exec_command": ("cmd", "command"),
}
_FOLDERS = ("workdir", "dir_path", "directory", "cwd")
"""Where a shell tool says that it will run, if not where the session is."""


def targets(
    tool: str, given: Mapping[str, object], folder: str, look: Look, variables: Mapping[str, str]
) -> FileWrites:
    """Absolute paths, each once. `folder` is where the session works, `variables` the environment of its shell."""
    from tallystick.harnesses.shell.file_writes import FileWrites

    found = FileWrites()
    if field := FILE_TOOLS.get(tool):
        found = FileWrites([path] if (path := _text(given.get(field))) else [])
    elif fields := PATCH_TOOLS.get(tool):
        found = FileWrites(files(_first(given, fields)))
    elif fields := SHELL_TOOLS.get(tool):
        from tallystick.harnesses.shell import file_writes

        folder = os.path.join(folder, _first(given, _FOLDERS))  # noqa: PTH118 - pathlib would double the start
        found = file_writes.by(_first(given, fields), folder, look, variables)
    # A path that no file can have changes none.
    real = [path for path in found.paths if "\0" not in path and len(path) <= LONGEST_PATH]
    return FileWrites(dict.fromkeys(absolute(path, folder) for path in real), found.unclear)


def absolute(path: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118


def _first(given: Mapping[str, object], fields: tuple[str, ...]) -> str:
    return next((text for field in fields if (text := _text(given.get(field)))), "")


def _text(value: object) -> str:
    if isinstance(value, list):
        from tallystick.harnesses.shell import file_writes

        # `["bash", "-lc", "…"]`, as a program's arguments.
        return file_writes.joined([str(each) for each in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    return value if isinstance(value, str) else ""
