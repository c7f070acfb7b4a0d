CREATE TABLE tokens (
    token_hash TEXT NOT NULL PRIMARY KEY,
    principal TEXT NOT NULL,
    room_id TEXT,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT
);
