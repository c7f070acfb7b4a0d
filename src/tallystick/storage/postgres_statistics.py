"""What the server knows of how full our tables are: it plans by that, and keeps its plans.

Autovacuum finds it out within minutes. Until then a new store is planned for as if it were empty, and such a plan may
read a whole room to find one row.
"""

from __future__ import annotations

from contextlib import suppress

import psycopg

from tallystick.storage.postgres_statements import Statements

FIRST = 200
"""After so many statements on a connection it is looked at, and then each time after four times as many."""
OUTGROWN = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND pg_relation_size(oid) > 4 * current_setting('block_size')::bigint * greatest(relpages, 1)
"""


class Statistics:
    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._next = FIRST

    def refresh(self) -> None:
        """Between two transactions: have tables counted that are four times as large as the server believes."""
        if self._statements.total < self._next:
            return
        self._next = 4 * self._statements.total
        # A server that refuses this, or is gone, will say so to whoever asks for something.
        with suppress(psycopg.Error):
            self._statements.say(OUTGROWN)
            names = [str(name) for (name,) in self._statements.rows(self._statements.settle())]
            if names:
                self._statements.say(f"ANALYZE (SKIP_LOCKED) {', '.join(names)}")
                self._statements.settle()
