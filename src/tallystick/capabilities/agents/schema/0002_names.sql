CREATE TABLE agent_names (
    room_id TEXT NOT NULL,
    name TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (room_id, name)
);

INSERT INTO agent_names (room_id, name, agent_id) SELECT room_id, name, MIN(agent_id) FROM agents GROUP BY room_id, name;

CREATE TABLE adoptions (
    room_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    PRIMARY KEY (room_id, session_id)
);

ALTER TABLE presence ADD COLUMN progressed_at BIGINT;
