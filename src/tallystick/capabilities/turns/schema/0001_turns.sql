CREATE TABLE sticks (
    room_id TEXT NOT NULL PRIMARY KEY,
    turn_id BIGINT NOT NULL,
    owner TEXT,
    reserved_for TEXT,
    pending_seq BIGINT,
    received_seq BIGINT,
    sequence_at TEXT,
    updated_at BIGINT NOT NULL
);

CREATE TABLE leases (
    room_id TEXT NOT NULL PRIMARY KEY,
    turn_id BIGINT NOT NULL,
    lease_id TEXT,
    lease_expires_at BIGINT,
    claim_expires_at BIGINT,
    renewed_at BIGINT NOT NULL,
    host_id TEXT,
    pid BIGINT,
    process_started_at TEXT
);
