UPDATE heads SET closed = 1 WHERE room_id IN (SELECT room_id FROM rooms WHERE closed_at IS NOT NULL);
