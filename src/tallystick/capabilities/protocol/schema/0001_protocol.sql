CREATE TABLE protocol_events (
    room_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    event_type TEXT NOT NULL,
    task_id TEXT,
    PRIMARY KEY (room_id, seq)
);

CREATE INDEX protocol_events_of_type ON protocol_events (room_id, event_type, seq);

CREATE INDEX protocol_events_of_task ON protocol_events (room_id, task_id, seq);

CREATE TABLE protocol_parties (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, agent_id, seq)
);
