ALTER TABLE jobs ADD COLUMN followers BIGINT NOT NULL DEFAULT 0;

UPDATE jobs SET followers = (
    SELECT COUNT(*) FROM job_edges e WHERE e.room_id = jobs.room_id AND e.after_number = jobs.number
);

DROP INDEX jobs_of_task;

CREATE INDEX jobs_of_task ON jobs (room_id, task_id, place, updated_at DESC, number)
WHERE active = 1 AND task_id IS NOT NULL;
