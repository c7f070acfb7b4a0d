"""Asks for facts, forks, and lets the child say what it finds out about itself and about its parent."""

from __future__ import annotations

import os
import sys

from tallystick.harnesses import processes

parent = processes.facts(os.getpid())
assert parent is not None
child = os.fork()
if child == 0:
    own = processes.facts(os.getpid())
    assert own is not None
    told = (own.host_id == parent.host_id, own.pid == os.getpid(), processes.state(parent), processes.state(own))
    sys.stdout.write(" ".join(map(str, told)))
else:
    os.waitpid(child, 0)
