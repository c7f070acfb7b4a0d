CREATE TABLE actions (
    room_id TEXT NOT NULL,
    action_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    group_id TEXT NOT NULL,
    action_index BIGINT NOT NULL,
    src TEXT NOT NULL,
    dst TEXT NOT NULL,
    type TEXT NOT NULL,
    kind TEXT,
    command TEXT,
    context_id TEXT NOT NULL,
    lane BIGINT NOT NULL,
    status TEXT,
    released BIGINT NOT NULL,
    finished BIGINT NOT NULL,
    replied BIGINT NOT NULL,
    PRIMARY KEY (room_id, action_id)
);

CREATE UNIQUE INDEX action_groups ON actions (room_id, src, group_id, action_index);

CREATE INDEX action_queue ON actions (room_id, dst, lane, seq) WHERE released = 0;

CREATE INDEX actions_owed ON actions (room_id, dst, seq) WHERE finished = 0;

CREATE INDEX actions_awaited ON actions (room_id, src, seq) WHERE finished = 0;

CREATE TABLE conversations (
    room_id TEXT NOT NULL,
    context_id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    opened_seq BIGINT NOT NULL,
    exchanges BIGINT NOT NULL,
    PRIMARY KEY (room_id, context_id)
);
