CREATE TABLE lost_turns (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    turn_id BIGINT NOT NULL,
    taken_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (room_id, agent_id)
);
