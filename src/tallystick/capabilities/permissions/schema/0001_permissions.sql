CREATE TABLE permissions (
    room_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    agent_id TEXT NOT NULL,
    request_id TEXT,
    state TEXT NOT NULL,
    settled_seq BIGINT,
    PRIMARY KEY (room_id, seq)
);

CREATE INDEX permissions_open ON permissions (room_id, agent_id, seq) WHERE state = 'open';

CREATE TABLE permission_policies (
    room_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id)
);
