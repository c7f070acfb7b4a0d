-- SQLite finds the room's head in its cache; the reference stays.
SELECT 1;
