CREATE INDEX events_by_author ON events (room_id, author, seq);

CREATE TABLE event_tasks (
    room_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, task_id, seq)
);
