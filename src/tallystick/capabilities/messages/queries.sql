-- inbox --
SELECT delivered, read_seq, unread, unacked FROM inboxes WHERE room_id = :room_id AND actor_id = :actor_id

-- delivery --
SELECT seq, place, sender, needs_ack, acked_at FROM deliveries
WHERE room_id = :room_id AND recipient = :recipient AND seq = :seq

-- delivered -- what one recipient got after a seq, oldest first
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v,
       d.needs_ack, d.acked_at
FROM deliveries d JOIN events e ON e.room_id = d.room_id AND e.seq = d.seq
WHERE d.room_id = :room_id AND d.recipient = :recipient AND d.seq > :seq
ORDER BY d.seq LIMIT :limit

-- delivered_of_kind --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v,
       d.needs_ack, d.acked_at
FROM deliveries d JOIN events e ON e.room_id = d.room_id AND e.seq = d.seq
WHERE d.room_id = :room_id AND d.recipient = :recipient AND d.kind = :kind AND d.seq > :seq
ORDER BY d.seq LIMIT :limit

-- delivered_owed -- what one recipient still has to acknowledge, read or not
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v,
       d.needs_ack, d.acked_at
FROM deliveries d JOIN events e ON e.room_id = d.room_id AND e.seq = d.seq
WHERE d.room_id = :room_id AND d.recipient = :recipient AND d.seq > :seq AND d.needs_ack = 1 AND d.acked_at IS NULL
    AND (:kind = '' OR d.kind = :kind)
ORDER BY d.seq LIMIT :limit

-- unread_plain -- how much one recipient got after a seq that asks for no ack
SELECT COUNT(*) AS count FROM deliveries
WHERE room_id = :room_id AND recipient = :recipient AND seq > :seq AND needs_ack = 0

-- newest_plain -- the last of that
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM deliveries d JOIN events e ON e.room_id = d.room_id AND e.seq = d.seq
WHERE d.room_id = :room_id AND d.recipient = :recipient AND d.seq > :seq AND d.needs_ack = 0
ORDER BY d.seq DESC LIMIT 1

-- deliver -- one more in the inbox, and its place there
INSERT INTO inboxes (room_id, actor_id, delivered, read_seq, unread, unacked)
VALUES (:room_id, :recipient, 1, 0, 1, :needs_ack)
ON CONFLICT (room_id, actor_id) DO UPDATE SET
    delivered = inboxes.delivered + 1, unread = inboxes.unread + 1, unacked = inboxes.unacked + excluded.unacked;
INSERT INTO deliveries (room_id, recipient, seq, place, event_id, kind, sender, needs_ack)
SELECT room_id, actor_id, :seq, delivered, :event_id, :kind, :sender, :needs_ack
FROM inboxes WHERE room_id = :room_id AND actor_id = :recipient

-- mark_read -- its place says how many are left
UPDATE inboxes SET read_seq = :seq, unread = delivered - :place WHERE room_id = :room_id AND actor_id = :actor_id

-- mark_acked --
UPDATE deliveries SET acked_at = :ts WHERE room_id = :room_id AND recipient = :actor_id AND seq = :seq

-- settle -- one ack less is owed
UPDATE inboxes SET unacked = unacked - 1 WHERE room_id = :room_id AND actor_id = :actor_id

-- ask_attention --
INSERT INTO attention (room_id, seq, event_id, sender, sent_at, outstanding, nudged)
VALUES (:room_id, :seq, :event_id, :sender, :sent_at, :outstanding, 0)

-- answer_attention --
UPDATE attention SET outstanding = outstanding - 1 WHERE room_id = :room_id AND seq = :seq

-- mark_overdue_notified --
UPDATE attention SET nudged = 1 WHERE room_id = :room_id AND seq = :seq

-- overdue -- messages whose sender has to be notified that acks are missing
SELECT seq, event_id, sender, sent_at FROM attention
WHERE room_id = :room_id AND outstanding > 0 AND nudged = 0 AND sent_at <= :cutoff ORDER BY sent_at LIMIT :limit

-- first_awaited --
SELECT sent_at FROM attention WHERE room_id = :room_id AND outstanding > 0 AND nudged = 0 ORDER BY sent_at LIMIT 1

-- awaiting --
SELECT seq, event_id, sender, sent_at FROM attention
WHERE room_id = :room_id AND sender = :sender AND outstanding > 0 ORDER BY seq LIMIT :limit

-- missing -- who still owes an ack for one message
SELECT recipient FROM deliveries
WHERE room_id = :room_id AND seq = :seq AND needs_ack = 1 AND acked_at IS NULL ORDER BY recipient

-- client_id_use --
SELECT digest, seq, sent_at FROM sends WHERE room_id = :room_id AND sender = :sender AND client_id = :client_id

-- remember_client_id --
INSERT INTO sends (room_id, sender, client_id, digest, seq, sent_at)
VALUES (:room_id, :sender, :client_id, :digest, :seq, :sent_at)
ON CONFLICT (room_id, sender, client_id) DO UPDATE SET
    digest = excluded.digest, seq = excluded.seq, sent_at = excluded.sent_at

-- reaction --
SELECT seq, actor_id, emoji FROM reactions
WHERE room_id = :room_id AND seq = :seq AND actor_id = :actor_id AND emoji = :emoji

-- reactions --
SELECT seq, actor_id, emoji FROM reactions
WHERE room_id = :room_id AND seq >= :first AND seq <= :last ORDER BY seq, actor_id, emoji

-- react --
INSERT INTO reactions (room_id, seq, actor_id, emoji) VALUES (:room_id, :seq, :actor_id, :emoji)

-- context --
SELECT name, value FROM context WHERE room_id = :room_id ORDER BY name

-- set_context --
INSERT INTO context (room_id, name, value, changed_seq, changed_by)
VALUES (:room_id, :name, :value, :changed_seq, :changed_by)
ON CONFLICT (room_id, name) DO UPDATE SET
    value = excluded.value, changed_seq = excluded.changed_seq, changed_by = excluded.changed_by

-- drop_context --
DELETE FROM context WHERE room_id = :room_id AND name = :name

-- listener --
SELECT heard_seq, listener_id, since, until, host_id, pid, process_started_at FROM listeners
WHERE room_id = :room_id AND agent_id = :agent_id

-- listen --
INSERT INTO listeners (room_id, agent_id, heard_seq, listener_id, since, until, host_id, pid, process_started_at)
VALUES (:room_id, :agent_id, 0, :listener_id, :since, :until, :host_id, :pid, :process_started_at)
ON CONFLICT (room_id, agent_id) DO UPDATE SET
    listener_id = excluded.listener_id, since = excluded.since, until = excluded.until, host_id = excluded.host_id,
    pid = excluded.pid, process_started_at = excluded.process_started_at

-- stop_listening --
UPDATE listeners SET listener_id = NULL, since = NULL, until = NULL, host_id = NULL, pid = NULL,
    process_started_at = NULL
WHERE room_id = :room_id AND agent_id = :agent_id AND listener_id = :listener_id

-- advance_listener --
INSERT INTO listeners (room_id, agent_id, heard_seq) VALUES (:room_id, :agent_id, :seq)
ON CONFLICT (room_id, agent_id) DO UPDATE SET heard_seq = excluded.heard_seq

-- index_text --
INSERT INTO texts (room_id, seq, kind, author, ts, words) VALUES (:room_id, :seq, :kind, :author, :ts, :words)

-- search -- newest first
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM texts JOIN events e ON e.room_id = texts.room_id AND e.seq = texts.seq
WHERE texts MATCH 'room_id:"' || :room_id || '" AND words:(' || :fts || ')'
    AND texts.kind IN (:kind_0, :kind_1, :kind_2, :kind_3, :kind_4, :kind_5, :kind_6, :kind_7) AND (:by = '' OR texts.author = :by)
    AND texts.ts >= :since AND texts.ts < :until
ORDER BY texts.rowid DESC LIMIT :limit

-- receipts -- of a stretch; by inbox, so that each recipient's own index is used
SELECT d.seq, d.event_id, d.recipient, d.needs_ack, d.acked_at, i.read_seq
FROM inboxes i JOIN deliveries d ON d.room_id = i.room_id AND d.recipient = i.actor_id
WHERE i.room_id = :room_id AND d.seq >= :first AND d.seq <= :last
ORDER BY d.seq, d.recipient
