-- deliver --
WITH counted AS (
    INSERT INTO inboxes (room_id, actor_id, delivered, read_seq, unread, unacked)
    VALUES (:room_id, :recipient, 1, 0, 1, :needs_ack)
    ON CONFLICT (room_id, actor_id) DO UPDATE SET
        delivered = inboxes.delivered + 1, unread = inboxes.unread + 1, unacked = inboxes.unacked + excluded.unacked
    RETURNING room_id, actor_id, delivered
)
INSERT INTO deliveries (room_id, recipient, seq, place, event_id, kind, sender, needs_ack)
SELECT room_id, actor_id, :seq, delivered, :event_id, :kind, :sender, :needs_ack FROM counted

-- search --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM texts JOIN events e ON e.room_id = texts.room_id AND e.seq = texts.seq
WHERE texts.room_id = :room_id AND array_to_tsvector(string_to_array(texts.words, ' ')) @@ CAST(:tsquery AS tsquery)
    AND texts.kind IN (:kind_0, :kind_1, :kind_2, :kind_3, :kind_4, :kind_5, :kind_6, :kind_7) AND (:by = '' OR texts.author = :by)
    AND texts.ts >= :since AND texts.ts < :until
ORDER BY texts.seq DESC LIMIT :limit
