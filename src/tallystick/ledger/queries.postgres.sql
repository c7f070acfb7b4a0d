-- lock --
SELECT seq, hash, ts FROM heads WHERE room_id = :room_id FOR UPDATE

-- lock_all --
SELECT room_id FROM heads ORDER BY room_id FOR UPDATE
