CREATE TABLE tasks (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    task_id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    assignee TEXT,
    anchor_id TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_seq BIGINT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (room_id, number)
);

CREATE INDEX tasks_by_status ON tasks (room_id, status, updated_seq DESC);

CREATE INDEX tasks_by_update ON tasks (room_id, updated_seq DESC);

CREATE INDEX tasks_of_agent ON tasks (room_id, assignee, status);

CREATE TABLE task_focus (
    room_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (room_id, principal)
);

CREATE TABLE cards (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    card_id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    pinned BIGINT NOT NULL,
    type TEXT NOT NULL,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    refs TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_seq BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (room_id, number)
);

CREATE INDEX cards_by_update ON cards (room_id, pinned DESC, updated_seq DESC);

CREATE TABLE card_tags (
    room_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (room_id, tag, number)
);

CREATE INDEX card_tags_of_card ON card_tags (room_id, number);

CREATE TABLE anchors (
    room_id TEXT NOT NULL,
    anchor_id TEXT NOT NULL,
    title TEXT NOT NULL,
    paths TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (room_id, anchor_id)
);
