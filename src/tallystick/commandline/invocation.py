"""One run of `tally`: which command, its global options, and where its result goes."""

from __future__ import annotations

from tallystick.commandline import output
from tallystick.commandline.global_options import VARIABLES


class Invocation:
    def __init__(self, *, command: str = "", as_json: bool = False) -> None:
        self.command = command
        self.as_json = as_json
        self.agent: str | None = None
        self.data_dir: str | None = None

    def variables(self) -> dict[str, str]:
        """The settings that were given as options, as environment variables."""
        given = {"--as": self.agent, "--data-dir": self.data_dir}
        return {VARIABLES[flag]: value for flag, value in given.items() if value}

    def finish(self, data: object) -> bool:
        """Print the envelope if one was asked for; otherwise the command shows the result itself."""
        if self.as_json:
            print(output.envelope(self.command, data), flush=True)
        return self.as_json
