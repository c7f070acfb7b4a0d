-- open -- a new room's ledger starts empty
INSERT INTO heads (room_id, seq, hash, ts) VALUES (:room_id, 0, :hash, 0)

-- lock -- the newest event's place; on PostgreSQL this is the row lock that orders a room's writers
SELECT seq, hash, ts, closed, adopted, deferred_seq FROM heads WHERE room_id = :room_id

-- head --
SELECT seq, hash, ts, closed, adopted, deferred_seq FROM heads WHERE room_id = :room_id

-- close --
UPDATE heads SET closed = 1 WHERE room_id = :room_id

-- mark_adopted --
UPDATE heads SET adopted = 1 WHERE room_id = :room_id

-- reopen_all -- for rebuild: what closed a room, and who was adopted in it, is folded again
UPDATE heads SET closed = 0, adopted = 0 WHERE closed <> 0 OR adopted <> 0

-- caught_up -- what the deferred projections hold
UPDATE heads SET deferred_seq = :seq WHERE room_id = :room_id

-- lagging -- a room that nobody has written to since a moment, and whose deferred projections are some way behind
SELECT room_id FROM heads WHERE seq - deferred_seq >= :lag AND ts <= :until ORDER BY ts LIMIT 1

-- rooms --
SELECT room_id FROM heads ORDER BY room_id

-- count_rooms --
SELECT count(*) AS rooms FROM heads

-- heads -- the rooms that moved last come first
SELECT room_id, seq, ts, closed FROM heads ORDER BY ts DESC, room_id LIMIT :limit

-- lock_all -- for rebuild: no room may move meanwhile
SELECT room_id FROM heads ORDER BY room_id

-- append --
INSERT INTO events (room_id, seq, id, ts, kind, scope_key, author, body, prev_hash, hash, v)
VALUES (:room_id, :seq, :id, :ts, :kind, :scope_key, :by, :body, :prev_hash, :hash, :v)

-- advance --
UPDATE heads SET seq = :seq, hash = :hash, ts = :ts WHERE room_id = :room_id

-- since --
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND seq > :seq ORDER BY seq LIMIT :limit

-- since_of_kind --
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND kind = :kind AND seq > :seq ORDER BY seq LIMIT :limit

-- before -- newest first
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND seq < :seq ORDER BY seq DESC LIMIT :limit

-- before_of_kind -- newest first
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND kind = :kind AND seq < :seq ORDER BY seq DESC LIMIT :limit

-- since_by -- '' stands for every kind
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND author = :by AND seq > :seq AND (:kind = '' OR kind = :kind)
ORDER BY seq LIMIT :limit

-- since_of_task -- '' stands for every author and every kind
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM event_tasks AS t JOIN events AS e ON e.room_id = t.room_id AND e.seq = t.seq
WHERE t.room_id = :room_id AND t.task_id = :task_id AND t.seq > :seq
    AND (:by = '' OR e.author = :by) AND (:kind = '' OR e.kind = :kind)
ORDER BY t.seq LIMIT :limit

-- before_by -- newest first; '' stands for every kind
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND author = :by AND seq < :seq AND (:kind = '' OR kind = :kind)
ORDER BY seq DESC LIMIT :limit

-- before_of_task -- newest first; '' stands for every author and every kind
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM event_tasks AS t JOIN events AS e ON e.room_id = t.room_id AND e.seq = t.seq
WHERE t.room_id = :room_id AND t.task_id = :task_id AND t.seq < :seq
    AND (:by = '' OR e.author = :by) AND (:kind = '' OR e.kind = :kind)
ORDER BY t.seq DESC LIMIT :limit

-- mention --
INSERT INTO event_tasks (room_id, task_id, seq) VALUES (:room_id, :task_id, :seq) ON CONFLICT DO NOTHING

-- at --
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id AND seq = :seq

-- by_id --
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE id = :id

-- last_until -- the place just before the first event that is younger than a moment; times never go back, so halve
WITH RECURSIVE place (low, high) AS (
    SELECT seq - seq, seq FROM heads WHERE room_id = :room_id
    UNION ALL
    SELECT CASE WHEN e.ts <= :ts THEN e.seq ELSE place.low END,
           CASE WHEN e.ts <= :ts THEN place.high ELSE e.seq - 1 END
    FROM place JOIN events e ON e.room_id = :room_id AND e.seq = (place.low + place.high + 1) / 2
    WHERE place.low < place.high
)
SELECT low AS seq FROM place WHERE low = high

-- whole -- a room from the start, for verify, export and rebuild
SELECT room_id, seq, id, ts, kind, scope_key, author AS "by", body, prev_hash, hash, v
FROM events WHERE room_id = :room_id ORDER BY seq

-- engine_problems -- what SQLite finds wrong with its pages and indexes; virtual tables, which have no page of their
-- own, report false damage on a connection that has checked them before
SELECT found.integrity_check AS problem
FROM (SELECT name FROM sqlite_schema WHERE rootpage > 0 AND type = 'table' UNION SELECT 'sqlite_schema') AS part,
    pragma_integrity_check(part.name) AS found
WHERE found.integrity_check <> 'ok' LIMIT 20
