CREATE TABLE set_aside (
    room_id TEXT NOT NULL,
    item TEXT NOT NULL,
    until BIGINT,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, item)
);
