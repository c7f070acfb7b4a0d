CREATE TABLE checkpoints (
    number BIGINT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL,
    public_key TEXT NOT NULL,
    signature TEXT NOT NULL
);

CREATE TABLE signed_heads (
    room_id TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL
);
