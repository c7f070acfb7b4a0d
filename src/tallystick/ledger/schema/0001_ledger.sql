CREATE TABLE heads (
    room_id TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    hash TEXT NOT NULL,
    ts BIGINT NOT NULL
);

CREATE TABLE events (
    room_id TEXT NOT NULL REFERENCES heads (room_id),
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    ts BIGINT NOT NULL,
    kind TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    v BIGINT NOT NULL,
    PRIMARY KEY (room_id, seq)
);

CREATE UNIQUE INDEX events_by_id ON events (id);

CREATE INDEX events_by_kind ON events (room_id, kind, seq);

CREATE INDEX events_by_time ON events (room_id, ts, seq);
