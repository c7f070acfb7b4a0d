-- set_aside --
INSERT INTO set_aside (room_id, item, until, seq) VALUES (:room_id, :item, :until, :seq)
ON CONFLICT (room_id, item) DO UPDATE SET until = excluded.until, seq = excluded.seq

-- restore --
DELETE FROM set_aside WHERE room_id = :room_id AND item = :item

-- put_aside -- what is not to be shown now
SELECT item FROM set_aside WHERE room_id = :room_id AND (until IS NULL OR until > :now)
