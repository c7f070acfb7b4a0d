CREATE TABLE jobs (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    job_id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL,
    priority BIGINT NOT NULL,
    place BIGINT NOT NULL,
    active BIGINT NOT NULL,
    ready BIGINT NOT NULL,
    blocked BIGINT NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    task_id TEXT,
    anchor_id TEXT,
    executor TEXT NOT NULL,
    profile TEXT NOT NULL,
    routed_executor TEXT,
    routed_runner TEXT,
    runner_id TEXT,
    created_by TEXT NOT NULL,
    created_seq BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    completed_at BIGINT,
    completed_seq BIGINT,
    last_seq BIGINT NOT NULL,
    shown_seq BIGINT NOT NULL,
    said_seq BIGINT NOT NULL,
    said_at BIGINT NOT NULL,
    question_seq BIGINT NOT NULL,
    manager_seq BIGINT NOT NULL,
    error_seq BIGINT NOT NULL,
    checkpoint_seq BIGINT NOT NULL,
    gate_seq BIGINT NOT NULL,
    proof_seq BIGINT NOT NULL,
    meta TEXT NOT NULL,
    refs TEXT NOT NULL,
    summary TEXT,
    PRIMARY KEY (room_id, number)
);

CREATE INDEX jobs_active ON jobs (room_id, place, updated_at DESC, number) WHERE active = 1;

CREATE INDEX jobs_of_task ON jobs (room_id, task_id, place, updated_at DESC, number) WHERE active = 1;

CREATE INDEX jobs_ready ON jobs (room_id, priority, number) WHERE ready = 1;

CREATE INDEX jobs_by_status ON jobs (room_id, status, updated_at DESC, number);

CREATE INDEX jobs_by_update ON jobs (room_id, updated_at DESC, number);

CREATE TABLE job_events (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (room_id, number, seq)
);

CREATE TABLE job_edges (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    after_number BIGINT NOT NULL,
    PRIMARY KEY (room_id, number, after_number)
);

CREATE INDEX job_edges_back ON job_edges (room_id, after_number, number);

CREATE TABLE job_artifacts (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    artifact_key TEXT NOT NULL,
    seq BIGINT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (room_id, number, artifact_key)
);

CREATE TABLE runner_loads (
    room_id TEXT NOT NULL,
    runner_id TEXT NOT NULL,
    jobs BIGINT NOT NULL,
    PRIMARY KEY (room_id, runner_id)
);

CREATE TABLE job_claims (
    room_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    runner_id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    beat_at BIGINT,
    beat_message TEXT,
    beat_percent BIGINT,
    PRIMARY KEY (room_id, number)
);

CREATE INDEX job_claims_by_end ON job_claims (room_id, expires_at);

CREATE INDEX job_claims_by_runner ON job_claims (room_id, runner_id, expires_at);

CREATE TABLE runners (
    room_id TEXT NOT NULL,
    runner_id TEXT NOT NULL,
    status TEXT NOT NULL,
    active_job_id TEXT,
    executors TEXT NOT NULL,
    profiles TEXT NOT NULL,
    supports_artifacts TEXT NOT NULL,
    max_parallel BIGINT NOT NULL,
    sandbox_policy TEXT,
    meta TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    lease_expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (room_id, runner_id)
);

CREATE INDEX runners_by_end ON runners (room_id, lease_expires_at);
