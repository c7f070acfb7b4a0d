CREATE TABLE deliveries (
    room_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    seq BIGINT NOT NULL,
    place BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    sender TEXT NOT NULL,
    needs_ack BIGINT NOT NULL,
    acked_at BIGINT,
    PRIMARY KEY (room_id, recipient, seq)
);

CREATE INDEX deliveries_by_kind ON deliveries (room_id, recipient, kind, seq);

CREATE INDEX acks_owed ON deliveries (room_id, recipient, seq) WHERE needs_ack = 1 AND acked_at IS NULL;

CREATE INDEX acks_awaited ON deliveries (room_id, seq, recipient) WHERE needs_ack = 1 AND acked_at IS NULL;

CREATE TABLE inboxes (
    room_id TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    delivered BIGINT NOT NULL,
    read_seq BIGINT NOT NULL,
    unread BIGINT NOT NULL,
    unacked BIGINT NOT NULL,
    PRIMARY KEY (room_id, actor_id)
);

CREATE TABLE attention (
    room_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    event_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    sent_at BIGINT NOT NULL,
    outstanding BIGINT NOT NULL,
    nudged BIGINT NOT NULL,
    PRIMARY KEY (room_id, seq)
);

CREATE INDEX attention_due ON attention (room_id, sent_at) WHERE outstanding > 0 AND nudged = 0;

CREATE INDEX attention_of_sender ON attention (room_id, sender, seq) WHERE outstanding > 0;

CREATE TABLE sends (
    room_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    client_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    seq BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    PRIMARY KEY (room_id, sender, client_id)
);

CREATE TABLE reactions (
    room_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    actor_id TEXT NOT NULL,
    emoji TEXT NOT NULL,
    PRIMARY KEY (room_id, seq, actor_id, emoji)
);

CREATE TABLE context (
    room_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    changed_seq BIGINT NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (room_id, name)
);

CREATE TABLE listeners (
    room_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    heard_seq BIGINT NOT NULL,
    listener_id TEXT,
    since BIGINT,
    until BIGINT,
    host_id TEXT,
    pid BIGINT,
    process_started_at TEXT,
    PRIMARY KEY (room_id, agent_id)
);
