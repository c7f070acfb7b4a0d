ALTER TABLE deliveries RENAME TO deliveries_by_rowid;

CREATE TABLE deliveries (
    room_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    seq BIGINT NOT NULL,
    place BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    sender TEXT NOT NULL,
    needs_ack BIGINT NOT NULL,
    acked_at BIGINT,
    PRIMARY KEY (room_id, recipient, seq)
) WITHOUT ROWID;

INSERT INTO deliveries
SELECT room_id, recipient, seq, place, event_id, kind, sender, needs_ack, acked_at FROM deliveries_by_rowid
ORDER BY room_id, recipient, seq;

DROP TABLE deliveries_by_rowid;

CREATE INDEX deliveries_by_kind ON deliveries (room_id, recipient, kind, seq);

CREATE INDEX acks_owed ON deliveries (room_id, recipient, seq) WHERE needs_ack = 1 AND acked_at IS NULL;

CREATE INDEX acks_awaited ON deliveries (room_id, seq, recipient) WHERE needs_ack = 1 AND acked_at IS NULL;
