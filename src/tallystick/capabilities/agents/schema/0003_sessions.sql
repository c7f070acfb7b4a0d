CREATE TABLE superseded (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_key TEXT NOT NULL,
    told BIGINT NOT NULL,
    PRIMARY KEY (room_id, agent_id, session_key)
);
