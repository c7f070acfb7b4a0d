-- search --
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM texts JOIN events e ON e.room_id = texts.room_id AND e.seq = texts.seq
WHERE texts.room_id = :room_id AND array_to_tsvector(string_to_array(texts.words, ' ')) @@ CAST(:tsquery AS tsquery)
    AND texts.kind IN (:kind_1, :kind_2, :kind_3) AND (:by = '' OR texts.author = :by)
    AND texts.ts >= :since AND texts.ts < :until
ORDER BY texts.seq DESC LIMIT :limit
