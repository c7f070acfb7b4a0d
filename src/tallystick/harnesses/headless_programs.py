"""The harnesses that can be called without a terminal, by the slug they have in `known`; `plain` is any program."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tallystick.harnesses.headless import Program
from tallystick.harnesses.headless_claude import ClaudeCode
from tallystick.harnesses.headless_codex import Codex
from tallystick.harnesses.headless_gemini import Gemini
from tallystick.harnesses.headless_plain import Plain

PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {"codex": Codex(), "claude-code": ClaudeCode(), "gemini": Gemini(), "plain": Plain()}
)
