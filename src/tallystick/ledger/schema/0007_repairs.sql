CREATE TABLE repaired_events (
    room_id TEXT NOT NULL REFERENCES heads (room_id),
    seq BIGINT NOT NULL,
    repaired_at BIGINT NOT NULL,
    PRIMARY KEY (room_id, seq)
);
