-- outlook -- the newest job's number, and how long a runner will be there
SELECT (SELECT MAX(number) FROM jobs WHERE room_id = :room_id) AS number,
    (SELECT MAX(lease_expires_at) FROM runners WHERE room_id = :room_id AND lease_expires_at <= :beyond)
        AS attended_until

-- job --
SELECT room_id, number, job_id, revision, status, priority, blocked, followers, title, kind, task_id, anchor_id,
    executor, profile, runner_id, created_by, created_seq, created_at, updated_at,
    completed_at, completed_seq, last_seq, said_seq, said_at, question_seq, manager_seq, error_seq, checkpoint_seq,
    gate_seq, proof_seq, delivered_seq, read_seq, slices, resume_seq, acknowledged_seq, meta, refs, summary
FROM jobs WHERE room_id = :room_id AND number = :number

-- insert -- a new job, and its first event in its log
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
    :shown_seq);
INSERT INTO job_events (room_id, number, seq) VALUES (:room_id, :number, :last_seq)

-- update -- the row after an event, and the event in the job's log
UPDATE jobs SET revision = :revision, status = :status, blocked = :blocked, runner_id = :runner_id,
    updated_at = :updated_at, completed_at = :completed_at,
    completed_seq = :completed_seq, last_seq = :last_seq, said_seq = :said_seq, said_at = :said_at,
    question_seq = :question_seq, manager_seq = :manager_seq, error_seq = :error_seq, checkpoint_seq = :checkpoint_seq,
    gate_seq = :gate_seq, proof_seq = :proof_seq, delivered_seq = :delivered_seq, read_seq = :read_seq,
    slices = :slices, resume_seq = :resume_seq, acknowledged_seq = :acknowledged_seq, meta = :meta, refs = :refs,
    summary = :summary, place = :place, active = :active, ready = :ready, shown_seq = :shown_seq
WHERE room_id = :room_id AND number = :number;
INSERT INTO job_events (room_id, number, seq) VALUES (:room_id, :number, :last_seq)

-- follow -- one more job comes after this one
UPDATE jobs SET followers = followers + 1 WHERE room_id = :room_id AND number = :number

-- events_after -- oldest first
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM job_events j JOIN events e ON e.room_id = j.room_id AND e.seq = j.seq
WHERE j.room_id = :room_id AND j.number = :number AND j.seq > :seq ORDER BY j.seq LIMIT :limit

-- events_before -- newest first
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM job_events j JOIN events e ON e.room_id = j.room_id AND e.seq = j.seq
WHERE j.room_id = :room_id AND j.number = :number AND j.seq < :seq ORDER BY j.seq DESC LIMIT :limit

-- turning_points -- claims, waivers and requeues of a job, newest first
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM job_events j JOIN events e ON e.room_id = j.room_id AND e.seq = j.seq
WHERE j.room_id = :room_id AND j.number = :number
    AND e.kind IN ('x.tally.job.claim', 'x.tally.job.waive', 'x.tally.job.requeue')
ORDER BY j.seq DESC

-- listed -- the most recently changed first, after a place
SELECT room_id, number, job_id, revision, status, priority, blocked, followers, title, kind, task_id, anchor_id,
    executor, profile, runner_id, created_by, created_seq, created_at, updated_at,
    completed_at, completed_seq, last_seq, said_seq, said_at, question_seq, manager_seq, error_seq, checkpoint_seq,
    gate_seq, proof_seq, delivered_seq, read_seq, slices, resume_seq, acknowledged_seq, meta, refs, summary
FROM jobs WHERE room_id = :room_id
    AND (updated_at < :updated_at OR (updated_at = :updated_at AND number > :number))
    AND (:task = '' OR task_id = :task) AND (:anchor = '' OR anchor_id = :anchor)
ORDER BY updated_at DESC, number LIMIT :limit

-- listed_of_status --
SELECT room_id, number, job_id, revision, status, priority, blocked, followers, title, kind, task_id, anchor_id,
    executor, profile, runner_id, created_by, created_seq, created_at, updated_at,
    completed_at, completed_seq, last_seq, said_seq, said_at, question_seq, manager_seq, error_seq, checkpoint_seq,
    gate_seq, proof_seq, delivered_seq, read_seq, slices, resume_seq, acknowledged_seq, meta, refs, summary
FROM jobs WHERE room_id = :room_id AND status = :status
    AND (updated_at < :updated_at OR (updated_at = :updated_at AND number > :number))
    AND (:task = '' OR task_id = :task) AND (:anchor = '' OR anchor_id = :anchor)
ORDER BY updated_at DESC, number LIMIT :limit

-- ready -- in the order in which they are claimed; with the event that created each, where that is short
SELECT j.room_id, j.number, j.job_id, j.revision, j.status, j.priority, j.blocked, j.followers, j.title, j.kind,
    j.task_id, j.anchor_id, j.executor, j.profile, j.runner_id, j.created_by,
    j.created_seq, j.created_at, j.updated_at, j.completed_at, j.completed_seq, j.last_seq, j.said_seq, j.said_at,
    j.question_seq, j.manager_seq, j.error_seq, j.checkpoint_seq, j.gate_seq, j.proof_seq, j.delivered_seq, j.read_seq,
    j.slices, j.resume_seq, j.acknowledged_seq, j.meta, j.refs, j.summary,
    CASE WHEN LENGTH(e.body) <= :short THEN e.body ELSE '' END AS creation
FROM jobs j JOIN events e ON e.room_id = j.room_id AND e.seq = j.created_seq
WHERE j.room_id = :room_id AND j.ready = 1 AND (j.priority, j.number) > (:priority, :number)
ORDER BY j.priority, j.number LIMIT :limit

-- stale -- running, and the claim has run out, or lasts longer than any may; in the order in which they are claimed
SELECT j.room_id, j.number, j.job_id, j.revision, j.status, j.priority, j.blocked, j.followers, j.title, j.kind,
    j.task_id, j.anchor_id, j.executor, j.profile, j.runner_id, j.created_by,
    j.created_seq, j.created_at, j.updated_at, j.completed_at, j.completed_seq, j.last_seq, j.said_seq, j.said_at,
    j.question_seq, j.manager_seq, j.error_seq, j.checkpoint_seq, j.gate_seq, j.proof_seq, j.delivered_seq, j.read_seq,
    j.slices, j.resume_seq, j.acknowledged_seq, j.meta, j.refs, j.summary
FROM job_claims c JOIN jobs j ON j.room_id = c.room_id AND j.number = c.number
WHERE c.room_id = :room_id AND (c.expires_at <= :now OR (c.expires_at > :beyond AND c.runner_id <> ''))
ORDER BY j.priority, j.number LIMIT :limit

-- add_edge --
INSERT INTO job_edges (room_id, number, after_number) VALUES (:room_id, :number, :after_number)

-- edges -- what a job comes after
SELECT j.job_id, j.status FROM job_edges e JOIN jobs j ON j.room_id = e.room_id AND j.number = e.after_number
WHERE e.room_id = :room_id AND e.number = :number ORDER BY e.after_number

-- unblock -- the jobs that come after one that has just ended or begun anew: what still holds them back
UPDATE jobs SET blocked = (
        SELECT COUNT(*) FROM job_edges e JOIN jobs d ON d.room_id = e.room_id AND d.number = e.after_number
        WHERE e.room_id = jobs.room_id AND e.number = jobs.number AND d.status <> 'DONE'
    ),
    ready = CASE WHEN status = 'QUEUED' AND question_seq <= manager_seq AND NOT EXISTS (
        SELECT 1 FROM job_edges e JOIN jobs d ON d.room_id = e.room_id AND d.number = e.after_number
        WHERE e.room_id = jobs.room_id AND e.number = jobs.number AND d.status <> 'DONE'
    ) THEN 1 ELSE 0 END
WHERE room_id = :room_id AND number IN (
        SELECT number FROM job_edges WHERE room_id = :room_id AND after_number = :number
    )

-- claim --
SELECT runner_id, revision, expires_at, beat_at, beat_message, beat_percent FROM job_claims
WHERE room_id = :room_id AND number = :number

-- put_claim -- a rebuild must not shorten a lease that was renewed since; the runner has so much more to do
INSERT INTO job_claims (room_id, number, runner_id, revision, expires_at)
VALUES (:room_id, :number, :runner_id, :revision, :expires_at)
ON CONFLICT (room_id, number) DO UPDATE SET
    runner_id = excluded.runner_id, revision = excluded.revision, expires_at = excluded.expires_at,
    beat_at = NULL, beat_message = NULL, beat_percent = NULL
WHERE job_claims.revision < excluded.revision;
INSERT INTO runner_loads (room_id, runner_id, jobs) VALUES (:room_id, :runner_id, :change)
ON CONFLICT (room_id, runner_id) DO UPDATE SET jobs = runner_loads.jobs + excluded.jobs

-- renew --
UPDATE job_claims SET expires_at = :expires_at WHERE room_id = :room_id AND number = :number

-- beat --
UPDATE job_claims SET expires_at = :expires_at, beat_at = :now, beat_message = :message, beat_percent = :percent
WHERE room_id = :room_id AND number = :number

-- end_claim -- and the runner has one job less
DELETE FROM job_claims WHERE room_id = :room_id AND number = :number AND revision <= :revision;
INSERT INTO runner_loads (room_id, runner_id, jobs) VALUES (:room_id, :runner_id, :change)
ON CONFLICT (room_id, runner_id) DO UPDATE SET jobs = runner_loads.jobs + excluded.jobs

-- await_answer -- nobody holds it, and until then it waits for the manager
INSERT INTO job_claims (room_id, number, runner_id, revision, expires_at)
VALUES (:room_id, :number, '', :revision, :expires_at)
ON CONFLICT (room_id, number) DO UPDATE SET
    runner_id = excluded.runner_id, revision = excluded.revision, expires_at = excluded.expires_at,
    beat_at = NULL, beat_message = NULL, beat_percent = NULL
WHERE job_claims.revision < excluded.revision

-- drop_claim --
DELETE FROM job_claims WHERE room_id = :room_id AND number = :number AND revision <= :revision

-- held -- how many unexpired claims a runner has
SELECT COUNT(*) AS held FROM job_claims
WHERE room_id = :room_id AND runner_id = :runner_id AND expires_at > :now AND expires_at <= :beyond

-- load --
INSERT INTO runner_loads (room_id, runner_id, jobs) VALUES (:room_id, :runner_id, :change)
ON CONFLICT (room_id, runner_id) DO UPDATE SET jobs = runner_loads.jobs + excluded.jobs

-- runner --
SELECT r.runner_id, r.status, r.active_job_id, r.executors, r.profiles, r.supports_artifacts, r.max_parallel,
    r.sandbox_policy, r.meta, r.agent_id, r.lease_expires_at, r.created_at, r.updated_at, l.jobs
FROM runners r LEFT JOIN runner_loads l ON l.room_id = r.room_id AND l.runner_id = r.runner_id
WHERE r.room_id = :room_id AND r.runner_id = :runner_id

-- unattended -- rooms where a job could be claimed and no runner is there
SELECT DISTINCT j.room_id FROM jobs j
WHERE j.ready = 1 AND NOT EXISTS (
        SELECT 1 FROM runners r
        WHERE r.room_id = j.room_id AND r.lease_expires_at > :now AND r.lease_expires_at <= :beyond
    )
ORDER BY j.room_id LIMIT :limit

-- runners_online --
SELECT r.runner_id, r.status, r.active_job_id, r.executors, r.profiles, r.supports_artifacts, r.max_parallel,
    r.sandbox_policy, r.meta, r.agent_id, r.lease_expires_at, r.created_at, r.updated_at, l.jobs
FROM runners r LEFT JOIN runner_loads l ON l.room_id = r.room_id AND l.runner_id = r.runner_id
WHERE r.room_id = :room_id AND r.lease_expires_at > :now AND r.lease_expires_at <= :beyond
ORDER BY r.runner_id LIMIT :limit

-- runners_offline -- the most recently lost first
SELECT r.runner_id, r.status, r.active_job_id, r.executors, r.profiles, r.supports_artifacts, r.max_parallel,
    r.sandbox_policy, r.meta, r.agent_id, r.lease_expires_at, r.created_at, r.updated_at, l.jobs
FROM runners r LEFT JOIN runner_loads l ON l.room_id = r.room_id AND l.runner_id = r.runner_id
WHERE r.room_id = :room_id AND (r.lease_expires_at <= :now OR r.lease_expires_at > :beyond)
ORDER BY r.lease_expires_at DESC, r.runner_id LIMIT :limit

-- put_runner --
INSERT INTO runners (room_id, runner_id, status, active_job_id, executors, profiles, supports_artifacts, max_parallel,
    sandbox_policy, meta, agent_id, lease_expires_at, created_at, updated_at)
VALUES (:room_id, :runner_id, :status, :active_job_id, :executors, :profiles, :supports_artifacts, :max_parallel,
    :sandbox_policy, :meta, :agent_id, :lease_expires_at, :now, :now)
ON CONFLICT (room_id, runner_id) DO UPDATE SET
    status = excluded.status, active_job_id = excluded.active_job_id, executors = excluded.executors,
    profiles = excluded.profiles, supports_artifacts = excluded.supports_artifacts,
    max_parallel = excluded.max_parallel, sandbox_policy = excluded.sandbox_policy, meta = excluded.meta,
    agent_id = excluded.agent_id, lease_expires_at = excluded.lease_expires_at, updated_at = excluded.updated_at

-- jobs_of_runners -- what each runner has, in the order of their claims
SELECT c.runner_id, j.job_id FROM job_claims c JOIN jobs j ON j.room_id = c.room_id AND j.number = c.number
WHERE c.room_id = :room_id AND c.runner_id <> '' AND j.status = 'RUNNING'
    AND (:runner_id = '' OR c.runner_id = :runner_id)
ORDER BY c.runner_id, c.number LIMIT :limit

-- manager_words -- what the manager said after an event, newest first
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM job_events j JOIN events e ON e.room_id = j.room_id AND e.seq = j.seq
WHERE j.room_id = :room_id AND j.number = :number AND j.seq > :seq AND e.kind = :kind
ORDER BY j.seq DESC LIMIT :limit

-- executor_orders --
SELECT profile, executors FROM executor_orders WHERE room_id = :room_id ORDER BY profile

-- put_executor_order --
INSERT INTO executor_orders (room_id, profile, executors) VALUES (:room_id, :profile, :executors)
ON CONFLICT (room_id, profile) DO UPDATE SET executors = excluded.executors

-- artifact --
SELECT artifact_key, seq, size, sha256 FROM job_artifacts
WHERE room_id = :room_id AND number = :number AND artifact_key = :artifact_key

-- artifacts --
SELECT artifact_key, seq, size, sha256 FROM job_artifacts
WHERE room_id = :room_id AND number = :number ORDER BY artifact_key

-- put_artifact --
INSERT INTO job_artifacts (room_id, number, artifact_key, seq, size, sha256)
VALUES (:room_id, :number, :artifact_key, :seq, :size, :sha256)
ON CONFLICT (room_id, number, artifact_key) DO UPDATE SET
    seq = excluded.seq, size = excluded.size, sha256 = excluded.sha256

-- counts -- how many are running and queued, up to a bound: a glance needs no more
SELECT 'RUNNING' AS status, COUNT(*) AS jobs
FROM (SELECT number FROM jobs WHERE room_id = :room_id AND status = 'RUNNING' LIMIT :most) AS running
UNION ALL
SELECT 'QUEUED' AS status, COUNT(*) AS jobs
FROM (SELECT number FROM jobs WHERE room_id = :room_id AND status = 'QUEUED' LIMIT :most) AS queued

-- failures --
SELECT room_id, number, job_id, revision, status, priority, blocked, followers, title, kind, task_id, anchor_id,
    executor, profile, runner_id, created_by, created_seq, created_at, updated_at,
    completed_at, completed_seq, last_seq, said_seq, said_at, question_seq, manager_seq, error_seq, checkpoint_seq,
    gate_seq, proof_seq, delivered_seq, read_seq, slices, resume_seq, acknowledged_seq, meta, refs, summary
FROM jobs WHERE room_id = :room_id AND active = 1 AND status = 'FAILED' ORDER BY number LIMIT :limit

-- first_of_task --
SELECT room_id, number, job_id, revision, status, priority, blocked, followers, title, kind, task_id, anchor_id,
    executor, profile, runner_id, created_by, created_seq, created_at, updated_at,
    completed_at, completed_seq, last_seq, said_seq, said_at, question_seq, manager_seq, error_seq, checkpoint_seq,
    gate_seq, proof_seq, delivered_seq, read_seq, slices, resume_seq, acknowledged_seq, meta, refs, summary
FROM jobs WHERE room_id = :room_id AND task_id = :task_id AND active = 1 AND status <> 'FAILED'
ORDER BY place, updated_at DESC, number LIMIT 1

-- radar_urgent -- what somebody waits for, most urgent first
SELECT j.room_id, j.number, j.job_id, j.revision, j.status, j.priority, j.blocked, j.followers, j.title, j.kind,
    j.task_id, j.anchor_id, j.executor, j.profile, j.runner_id, j.created_by,
    j.created_seq, j.created_at, j.updated_at, j.completed_at, j.completed_seq, j.last_seq, j.said_seq, j.said_at,
    j.question_seq, j.manager_seq, j.error_seq, j.checkpoint_seq, j.gate_seq, j.proof_seq, j.delivered_seq, j.read_seq,
    j.slices, j.resume_seq, j.acknowledged_seq, j.meta, j.refs, j.summary,
    c.expires_at, e.body
FROM jobs j LEFT JOIN job_claims c ON c.room_id = j.room_id AND c.number = j.number
LEFT JOIN events e ON e.room_id = j.room_id AND e.seq = j.shown_seq AND j.shown_seq <> j.created_seq
WHERE j.room_id = :room_id AND j.active = 1 AND j.place < 6 AND (:status = '' OR j.status = :status)
    AND (:task = '' OR j.task_id = :task) AND (:anchor = '' OR j.anchor_id = :anchor)
ORDER BY j.place, j.updated_at DESC, j.number LIMIT :limit

-- radar_stale -- running, and the claim has run out
SELECT j.room_id, j.number, j.job_id, j.revision, j.status, j.priority, j.blocked, j.followers, j.title, j.kind,
    j.task_id, j.anchor_id, j.executor, j.profile, j.runner_id, j.created_by,
    j.created_seq, j.created_at, j.updated_at, j.completed_at, j.completed_seq, j.last_seq, j.said_seq, j.said_at,
    j.question_seq, j.manager_seq, j.error_seq, j.checkpoint_seq, j.gate_seq, j.proof_seq, j.delivered_seq, j.read_seq,
    j.slices, j.resume_seq, j.acknowledged_seq, j.meta, j.refs, j.summary,
    c.expires_at, e.body
FROM job_claims c JOIN jobs j ON j.room_id = c.room_id AND j.number = c.number
LEFT JOIN events e ON e.room_id = j.room_id AND e.seq = j.shown_seq AND j.shown_seq <> j.created_seq
WHERE c.room_id = :room_id AND c.expires_at <= :now AND j.place = 6 AND (:status = '' OR j.status = :status)
    AND (:task = '' OR j.task_id = :task) AND (:anchor = '' OR j.anchor_id = :anchor)
ORDER BY j.updated_at DESC, j.number LIMIT :limit

-- radar_rest -- running, then queued
SELECT j.room_id, j.number, j.job_id, j.revision, j.status, j.priority, j.blocked, j.followers, j.title, j.kind,
    j.task_id, j.anchor_id, j.executor, j.profile, j.runner_id, j.created_by,
    j.created_seq, j.created_at, j.updated_at, j.completed_at, j.completed_seq, j.last_seq, j.said_seq, j.said_at,
    j.question_seq, j.manager_seq, j.error_seq, j.checkpoint_seq, j.gate_seq, j.proof_seq, j.delivered_seq, j.read_seq,
    j.slices, j.resume_seq, j.acknowledged_seq, j.meta, j.refs, j.summary,
    c.expires_at, e.body
FROM jobs j LEFT JOIN job_claims c ON c.room_id = j.room_id AND c.number = j.number
LEFT JOIN events e ON e.room_id = j.room_id AND e.seq = j.shown_seq AND j.shown_seq <> j.created_seq
WHERE j.room_id = :room_id AND j.active = 1 AND j.place >= 6 AND (:status = '' OR j.status = :status)
    AND (:task = '' OR j.task_id = :task) AND (:anchor = '' OR j.anchor_id = :anchor)
ORDER BY j.place, j.updated_at DESC, j.number LIMIT :limit

-- radar_ended --
SELECT j.room_id, j.number, j.job_id, j.revision, j.status, j.priority, j.blocked, j.followers, j.title, j.kind,
    j.task_id, j.anchor_id, j.executor, j.profile, j.runner_id, j.created_by,
    j.created_seq, j.created_at, j.updated_at, j.completed_at, j.completed_seq, j.last_seq, j.said_seq, j.said_at,
    j.question_seq, j.manager_seq, j.error_seq, j.checkpoint_seq, j.gate_seq, j.proof_seq, j.delivered_seq, j.read_seq,
    j.slices, j.resume_seq, j.acknowledged_seq, j.meta, j.refs, j.summary,
    c.expires_at, e.body
FROM jobs j LEFT JOIN job_claims c ON c.room_id = j.room_id AND c.number = j.number
LEFT JOIN events e ON e.room_id = j.room_id AND e.seq = j.shown_seq AND j.shown_seq <> j.created_seq
WHERE j.room_id = :room_id AND j.status = :status
    AND (:task = '' OR j.task_id = :task) AND (:anchor = '' OR j.anchor_id = :anchor)
ORDER BY j.updated_at DESC, j.number LIMIT :limit

-- runner_counts -- how many are there, by what they last said, and how many were lost lately
SELECT CASE WHEN lease_expires_at > :now THEN status ELSE 'offline' END AS state, COUNT(*) AS runners
FROM runners WHERE room_id = :room_id AND lease_expires_at > :since GROUP BY 1

-- any_queued --
SELECT number FROM jobs WHERE room_id = :room_id AND ready = 1 LIMIT 1

-- unanswered -- questions that still wait for the manager
SELECT e.room_id, e.seq, e.id, e.ts, e.kind, e.scope_key, e.author AS "by", e.body, e.prev_hash, e.hash, e.v
FROM jobs j JOIN events e ON e.room_id = j.room_id AND e.seq = j.question_seq
WHERE j.room_id = :room_id AND j.active = 1 AND j.place < 4 AND j.status <> 'FAILED' AND j.question_seq > j.manager_seq
ORDER BY e.seq LIMIT :limit
