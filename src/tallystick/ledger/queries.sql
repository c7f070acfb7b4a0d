-- open -- a new room's ledger starts empty
INSERT INTO heads (room_id, seq, hash, ts) VALUES (:room_id, 0, :hash, 0)

-- lock -- the newest event's place; on PostgreSQL this is the row lock that orders a room's writers
SELECT seq, hash, ts, closed, adopted, deferred_seq, archive FROM heads WHERE room_id = :room_id

-- head --
SELECT seq, hash, ts, closed, adopted, deferred_seq, archive FROM heads WHERE room_id = :room_id

-- close --
UPDATE heads SET closed = 1 WHERE room_id = :room_id

-- mark_adopted --
UPDATE heads SET adopted = 1 WHERE room_id = :room_id

-- reopen_all -- for rebuild: what closed a room, and who was adopted in it, is folded again
UPDATE heads SET closed = 0, adopted = 0 WHERE archive = '' AND (closed <> 0 OR adopted <> 0)

-- caught_up -- what the deferred projections hold
UPDATE heads SET deferred_seq = :seq WHERE room_id = :room_id

-- lagging -- a room that nobody has written to since a moment, and whose deferred projections are some way behind
SELECT room_id FROM heads WHERE archive = '' AND seq - deferred_seq >= :lag AND ts <= :until ORDER BY ts LIMIT 1

-- rooms --
SELECT room_id FROM heads WHERE archive = '' ORDER BY room_id

-- count_rooms --
SELECT count(*) AS rooms FROM heads WHERE archive = ''

-- newest --
SELECT MAX(ts) AS ts FROM heads

-- heads -- the rooms that moved last come first
SELECT room_id, seq, ts, closed FROM heads WHERE archive = '' ORDER BY ts DESC, room_id LIMIT :limit

-- lock_all -- for rebuild: no room may move meanwhile
SELECT room_id FROM heads WHERE archive = '' ORDER BY room_id

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

-- checkpoints -- in the order in which they were signed
SELECT number, body, public_key, signature FROM checkpoints ORDER BY number

-- last_checkpoint --
SELECT number, body, public_key, signature FROM checkpoints ORDER BY number DESC LIMIT 1

-- add_checkpoint --
INSERT INTO checkpoints (number, body, public_key, signature) VALUES (:number, :body, :public_key, :signature)

-- every_head --
SELECT room_id, seq, hash FROM heads WHERE archive = '' ORDER BY room_id

-- unsigned_heads -- rooms that moved since a checkpoint named them last
SELECT h.room_id, h.seq, h.hash FROM heads AS h LEFT JOIN signed_heads AS s ON s.room_id = h.room_id
WHERE h.seq > COALESCE(s.seq, 0) AND h.archive = '' ORDER BY h.room_id

-- mark_signed --
INSERT INTO signed_heads (room_id, seq) VALUES (:room_id, :seq)
ON CONFLICT (room_id) DO UPDATE SET seq = excluded.seq

-- by_hash --
SELECT seq FROM events WHERE room_id = :room_id AND hash = :hash

-- prune -- the events of a room that was archived: the only place where any is removed
DELETE FROM events WHERE room_id = :room_id

-- forget_repairs --
DELETE FROM repaired_events WHERE room_id = :room_id

-- mark_archived -- '' stands for a room that is here
UPDATE heads SET archive = :archive WHERE room_id = :room_id

-- archive_of --
SELECT archive FROM heads WHERE room_id = :room_id AND archive <> ''

-- closed_until -- closed rooms that nobody has written to since a moment
SELECT room_id FROM heads WHERE closed = 1 AND archive = '' AND ts <= :until ORDER BY ts

-- repaired -- events out of bounds whose rows were folded again
SELECT seq FROM repaired_events WHERE room_id = :room_id

-- mark_repaired --
INSERT INTO repaired_events (room_id, seq, repaired_at) VALUES (:room_id, :seq, :now)

-- engine_problems -- what SQLite finds wrong with its pages and indexes; virtual tables, which have no page of their
-- own, report false damage on a connection that has checked them before
SELECT found.integrity_check AS problem
FROM (SELECT name FROM sqlite_schema WHERE rootpage > 0 AND type = 'table' UNION SELECT 'sqlite_schema') AS part,
    pragma_integrity_check(part.name) AS found
WHERE found.integrity_check <> 'ok' LIMIT 20
