CREATE TABLE blobs (
    room_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    mime_type TEXT NOT NULL,
    name TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, sha256)
);

CREATE INDEX blobs_by_content ON blobs (sha256, room_id);
