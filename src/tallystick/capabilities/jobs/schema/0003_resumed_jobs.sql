ALTER TABLE jobs DROP COLUMN routed_executor;

ALTER TABLE jobs DROP COLUMN routed_runner;

ALTER TABLE jobs ADD COLUMN delivered_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN read_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN slices BIGINT NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN resume_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE jobs ADD COLUMN acknowledged_seq BIGINT NOT NULL DEFAULT 0;

UPDATE jobs SET active = 1, place = 1 WHERE status = 'FAILED';

UPDATE runner_loads SET jobs = (
    SELECT COUNT(*) FROM jobs j
    WHERE j.room_id = runner_loads.room_id AND j.runner_id = runner_loads.runner_id AND j.status = 'RUNNING'
);

DELETE FROM runner_loads WHERE NOT EXISTS (
    SELECT 1 FROM events e WHERE e.room_id = runner_loads.room_id AND e.kind = 'x.tally.job.claim'
    AND e.body LIKE '%"runner_id":"' || runner_loads.runner_id || '"%'
);

CREATE TABLE executor_orders (
    room_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    executors TEXT NOT NULL,
    PRIMARY KEY (room_id, profile)
);
