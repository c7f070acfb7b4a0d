-- add --
INSERT INTO protocol_events (room_id, seq, event_type, task_id) VALUES (:room_id, :seq, :event_type, :task_id)

-- add_party --
INSERT INTO protocol_parties (room_id, agent_id, seq) VALUES (:room_id, :agent_id, :seq)

-- listed_of_type --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM protocol_events p JOIN events e ON e.room_id = p.room_id AND e.seq = p.seq
WHERE p.room_id = :room_id AND p.event_type = :event_type AND p.seq > :seq
ORDER BY p.seq LIMIT :limit

-- listed_of_task --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM protocol_events p JOIN events e ON e.room_id = p.room_id AND e.seq = p.seq
WHERE p.room_id = :room_id AND p.task_id = :task_id AND p.seq > :seq
    AND (:event_type = '' OR p.event_type = :event_type)
ORDER BY p.seq LIMIT :limit

-- listed_of_agent --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM protocol_parties a
JOIN protocol_events p ON p.room_id = a.room_id AND p.seq = a.seq
JOIN events e ON e.room_id = p.room_id AND e.seq = p.seq
WHERE a.room_id = :room_id AND a.agent_id = :agent_id AND a.seq > :seq
    AND (:event_type = '' OR p.event_type = :event_type) AND (:task_id = '' OR p.task_id = :task_id)
ORDER BY a.seq LIMIT :limit

-- listed --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM protocol_events p JOIN events e ON e.room_id = p.room_id AND e.seq = p.seq
WHERE p.room_id = :room_id AND p.seq > :seq ORDER BY p.seq LIMIT :limit
