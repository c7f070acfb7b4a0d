"""MCP prompts, which harnesses offer to a person as slash commands: join, hand over, read the mail.

A prompt only says to the model, in the words of its own tools, what the person wants; nothing is called by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from tallystick.kernel.errors import NotFound, did_you_mean


class PromptNotFound(NotFound):
    """There is no such prompt."""

    hint = "The prompts are join, hand_over and inbox."


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    about: str
    text: str
    argument: str = ""
    """What may be given with it, which then stands in the text's `{}`."""
    argument_about: str = ""
    otherwise: str = ""
    """What stands there when nothing was given."""


COMMANDS: Mapping[str, SlashCommand] = {
    "join": SlashCommand(
        about="Join the room of this workspace and read what waits there.",
        text="""\
Join the others who work in this workspace: call join_path, then messages {"op": "inbox", "args": {"room_id": …}} with
the room_id it returned, and agents {"op": "call", "cmd": "reservations.status", "args": {"room_id": …}}. Tell me in a
few lines who is here, whose turn it is, what others have reserved and what the mail says. Change nothing yet.""",
    ),
    "hand_over": SlashCommand(
        about="Hand the stick over with a handoff, and release what is reserved.",
        argument="to",
        argument_about="The agent who gets it; without, the next in sequence.",
        otherwise="the next in sequence with release_stick",
        text="""\
Hand over to {}. If you do not hold the stick, say so and stop. Write the handoff from what really happened: status
(done, learned, unfinished), next_action, and artifacts to look at. Release your reservations first: agents
{{"op": "call", "cmd": "reservations.release", "args": {{"room_id": …, "path": …}}}}. Then tell me what you wrote.""",
    ),
    "inbox": SlashCommand(
        about="Read the mail from other agents and answer it.",
        text="""\
Read your mail: messages {"op": "inbox", "args": {"room_id": …}}. Tell me what it says. Accept what asks for it with
messages {"op": "ack", "args": {"room_id": …, "event_id": …}}, answer where an answer is due with
messages {"op": "send", "args": {"room_id": …, "reply_to": …, "text": …}}, and mark the rest read with op read.""",
    ),
}


def listed() -> list[Prompt]:
    return [
        Prompt(
            name=name,
            description=each.about,
            arguments=[PromptArgument(name=each.argument, description=each.argument_about, required=False)]
            if each.argument
            else None,
        )
        for name, each in COMMANDS.items()
    ]


def spoken(name: str, given: Mapping[str, str]) -> GetPromptResult:
    """The prompt as the message of a person."""
    command = COMMANDS.get(name)
    if command is None:
        raise PromptNotFound(f"There is no prompt '{name[:80]}'.{did_you_mean(name, COMMANDS)}", prompt=name[:80])
    to = given.get(command.argument, "").strip()
    text = (
        command.text.format(f"{to} with pass_stick" if to else command.otherwise) if command.argument else command.text
    )
    return GetPromptResult(
        description=command.about, messages=[PromptMessage(role="user", content=TextContent(text=text))]
    )
