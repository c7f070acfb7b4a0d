CREATE TABLE agents (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    harness TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    joined_at BIGINT NOT NULL,
    PRIMARY KEY (room_id, agent_id)
);

CREATE TABLE presence (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    session_kind TEXT NOT NULL,
    host_id TEXT,
    pid BIGINT,
    process_started_at TEXT,
    PRIMARY KEY (room_id, agent_id)
);
