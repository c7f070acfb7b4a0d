"""Which files a tool call is about to change, as far as that can be read from its input.

Tools of all three harnesses in one table: those that name a file, those that carry a patch, and the shell. Pure but for
`Look`, through which the file system answers the two questions that a command line leaves open.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick.harnesses.shell.file_writes import Look

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


def targets(tool: str, given: Mapping[str, object], folder: str, look: Look, variables: Mapping[str, str]) -> list[str]:
    """Absolute paths, each once. `folder` is where the session works, `variables` the environment of its shell."""
    found = list[str]()
    if field := FILE_TOOLS.get(tool):
        found = [path] if (path := _text(given.get(field))) else []
    elif fields := PATCH_TOOLS.get(tool):
        from tallystick.harnesses.shell import patches

        found = patches.files(_first(given, fields))
    elif fields := SHELL_TOOLS.get(tool):
        from tallystick.harnesses.shell import file_writes

        folder = os.path.join(folder, _first(given, _FOLDERS))  # noqa: PTH118 - pathlib would double the start
        found = file_writes.by(_first(given, fields), folder, look, variables)
    return list(dict.fromkeys(absolute(path, folder) for path in found))


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
