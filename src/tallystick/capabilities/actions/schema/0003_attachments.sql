CREATE TABLE attachments (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    program TEXT NOT NULL,
    away BIGINT NOT NULL,
    PRIMARY KEY (room_id, agent_id)
);

-- A reply asks nothing: it is settled by being there.
UPDATE actions SET status = 'completed', released = 1, finished = 1 WHERE kind = 'reply' AND finished = 0;
