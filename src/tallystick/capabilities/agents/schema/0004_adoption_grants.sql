CREATE TABLE adoption_grants (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, agent_id, session_id)
);
