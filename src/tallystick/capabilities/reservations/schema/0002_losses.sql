CREATE TABLE losses (
    room_id TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    reservation_id TEXT NOT NULL,
    path TEXT NOT NULL,
    folded TEXT NOT NULL,
    fate TEXT NOT NULL,
    PRIMARY KEY (room_id, actor_id, seq)
);
