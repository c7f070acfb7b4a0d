"""Rows: one port, two engines (SQLite through apsw, PostgreSQL through psycopg), named queries and migrations."""
