CREATE TABLE reservations (
    room_id TEXT NOT NULL,
    reservation_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    folded TEXT NOT NULL,
    folds BIGINT NOT NULL,
    mode TEXT NOT NULL,
    task_id TEXT,
    fence BIGINT NOT NULL,
    granted_at BIGINT NOT NULL,
    until BIGINT NOT NULL,
    state TEXT NOT NULL,
    ended_at BIGINT,
    ended_by TEXT,
    ending TEXT,
    PRIMARY KEY (room_id, reservation_id)
);

CREATE INDEX reservations_by_path ON reservations (room_id, folded, fence) WHERE state = 'active';

CREATE INDEX reservations_of_agent ON reservations (room_id, agent_id, fence) WHERE state = 'active';

CREATE INDEX reservations_by_end ON reservations (room_id, until) WHERE state = 'active';

CREATE INDEX reservations_past ON reservations (room_id, folded, agent_id, fence);

CREATE TABLE incursions (
    room_id TEXT NOT NULL,
    reservation_id TEXT NOT NULL,
    incoming_agent TEXT NOT NULL,
    incoming_key TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, reservation_id, incoming_agent, incoming_key)
);
