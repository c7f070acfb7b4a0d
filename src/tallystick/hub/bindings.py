"""What capabilities that do not know each other need of one another: which object answers which Protocol."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.capabilities.jobs.model import Things
from tallystick.capabilities.jobs.operations import WORK
from tallystick.capabilities.tasks.queries import THINGS
from tallystick.capabilities.tasks.work import Work

_things: Things = THINGS
_work: Work = WORK

BINDINGS: Mapping[type, object] = {Things: _things, Work: _work}
