CREATE TABLE rooms (
    room_id TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    canonical_path TEXT NOT NULL,
    policy TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    closed_at BIGINT
);

CREATE TABLE scopes (
    room_id TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    machine_id TEXT NOT NULL,
    root TEXT NOT NULL,
    closed_at BIGINT,
    PRIMARY KEY (room_id, scope_key)
);

CREATE UNIQUE INDEX open_scopes ON scopes (machine_id, root) WHERE closed_at IS NULL;
