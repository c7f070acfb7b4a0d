"""What capabilities that do not know each other need of one another: which object answers which Protocol."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.capabilities.jobs.model import Things
from tallystick.capabilities.jobs.work import WORK
from tallystick.capabilities.tasks.model import Work
from tallystick.capabilities.tasks.things import THINGS

_things: Things = THINGS
_work: Work = WORK

BINDINGS: Mapping[type, object] = {Things: _things, Work: _work}
