-- insert --
WITH logged AS (
    INSERT INTO job_events (room_id, number, seq) VALUES (:room_id, :number, :last_seq)
)
INSERT INTO jobs (room_id, number, job_id, revision, status, priority, blocked, followers, title, kind, task_id,
    anchor_id, executor, profile, runner_id, created_by, created_seq, created_at,
    updated_at, completed_at, completed_seq, last_seq, said_seq, said_at, question_seq, manager_seq, error_seq,
    checkpoint_seq, gate_seq, proof_seq, delivered_seq, read_seq, slices, resume_seq, acknowledged_seq, meta, refs,
    summary, place, active, ready, shown_seq)
VALUES (:room_id, :number, :job_id, :revision, :status, :priority, :blocked, :followers, :title, :kind, :task_id,
    :anchor_id, :executor, :profile, :runner_id, :created_by, :created_seq,
    :created_at, :updated_at, :completed_at, :completed_seq, :last_seq, :said_seq, :said_at, :question_seq,
    :manager_seq, :error_seq, :checkpoint_seq, :gate_seq, :proof_seq, :delivered_seq, :read_seq, :slices, :resume_seq,
    :acknowledged_seq, :meta, :refs, :summary, :place, :active, :ready,
    :shown_seq)

-- update --
WITH logged AS (
    INSERT INTO job_events (room_id, number, seq) VALUES (:room_id, :number, :last_seq)
)
UPDATE jobs SET revision = :revision, status = :status, blocked = :blocked, runner_id = :runner_id,
    updated_at = :updated_at, completed_at = :completed_at,
    completed_seq = :completed_seq, last_seq = :last_seq, said_seq = :said_seq, said_at = :said_at,
    question_seq = :question_seq, manager_seq = :manager_seq, error_seq = :error_seq, checkpoint_seq = :checkpoint_seq,
    gate_seq = :gate_seq, proof_seq = :proof_seq, delivered_seq = :delivered_seq, read_seq = :read_seq,
    slices = :slices, resume_seq = :resume_seq, acknowledged_seq = :acknowledged_seq, meta = :meta, refs = :refs,
    summary = :summary, place = :place, active = :active, ready = :ready, shown_seq = :shown_seq
WHERE room_id = :room_id AND number = :number

-- put_claim --
WITH loaded AS (
    INSERT INTO runner_loads (room_id, runner_id, jobs) VALUES (:room_id, :runner_id, :change)
    ON CONFLICT (room_id, runner_id) DO UPDATE SET jobs = runner_loads.jobs + excluded.jobs
)
INSERT INTO job_claims (room_id, number, runner_id, revision, expires_at)
VALUES (:room_id, :number, :runner_id, :revision, :expires_at)
ON CONFLICT (room_id, number) DO UPDATE SET
    runner_id = excluded.runner_id, revision = excluded.revision, expires_at = excluded.expires_at,
    beat_at = NULL, beat_message = NULL, beat_percent = NULL
WHERE job_claims.revision < excluded.revision

-- end_claim --
WITH loaded AS (
    INSERT INTO runner_loads (room_id, runner_id, jobs) VALUES (:room_id, :runner_id, :change)
    ON CONFLICT (room_id, runner_id) DO UPDATE SET jobs = runner_loads.jobs + excluded.jobs
)
DELETE FROM job_claims WHERE room_id = :room_id AND number = :number AND revision <= :revision
