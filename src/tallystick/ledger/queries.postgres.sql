-- lock --
SELECT seq, hash, ts, closed, adopted, deferred_seq, archive FROM heads WHERE room_id = :room_id FOR UPDATE

-- lock_all --
SELECT room_id FROM heads WHERE archive = '' ORDER BY room_id FOR UPDATE

-- engine_problems -- PostgreSQL looks after its own pages and says so when it cannot
SELECT '' AS problem WHERE 1 = 0
