-- request --
SELECT seq, agent_id, state, settled_seq FROM permissions WHERE room_id = :room_id AND seq = :seq

-- named -- an agent's open request under its own name of it
SELECT seq, agent_id, state, settled_seq FROM permissions
WHERE room_id = :room_id AND agent_id = :agent_id AND request_id = :request_id AND state = 'open'
ORDER BY seq LIMIT 1

-- open -- oldest first
SELECT seq, agent_id, state, settled_seq FROM permissions
WHERE room_id = :room_id AND state = 'open' AND (:agent_id = '' OR agent_id = :agent_id)
ORDER BY seq LIMIT :limit

-- settled -- newest first
SELECT seq, agent_id, state, settled_seq FROM permissions
WHERE room_id = :room_id AND state <> 'open' AND (:agent_id = '' OR agent_id = :agent_id)
ORDER BY seq DESC LIMIT :limit

-- ask --
INSERT INTO permissions (room_id, seq, agent_id, request_id, state, settled_seq)
VALUES (:room_id, :seq, :agent_id, :request_id, 'open', NULL)

-- settle --
UPDATE permissions SET state = :state, settled_seq = :settled_seq
WHERE room_id = :room_id AND seq = :seq AND state = 'open'

-- settle_of_agent -- whatever a member that leaves had asked
UPDATE permissions SET state = 'withdrawn', settled_seq = :settled_seq
WHERE room_id = :room_id AND agent_id = :agent_id AND state = 'open'

-- settle_all --
UPDATE permissions SET state = 'withdrawn', settled_seq = :settled_seq WHERE room_id = :room_id AND state = 'open'

-- policy -- the event that set it
SELECT seq FROM permission_policies WHERE room_id = :room_id

-- set_policy --
INSERT INTO permission_policies (room_id, seq) VALUES (:room_id, :seq)
ON CONFLICT (room_id) DO UPDATE SET seq = :seq
