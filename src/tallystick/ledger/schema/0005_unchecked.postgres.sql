-- Who appends holds the lock on the room's head, so the server need not look it up again for every event.
ALTER TABLE events DROP CONSTRAINT events_room_id_fkey;
