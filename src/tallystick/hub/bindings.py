"""What capabilities that do not know each other need of one another: which object answers which Protocol."""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.capabilities import jobs, tasks
from tallystick.capabilities.jobs.model import Things
from tallystick.capabilities.tasks.model import Work

_things: Things = tasks.THINGS
_work: Work = jobs.WORK

BINDINGS: Mapping[type, object] = {Things: _things, Work: _work}
