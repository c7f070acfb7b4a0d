-- stick --
SELECT turn_id, owner, reserved_for, pending_seq, received_seq, sequence_at, updated_at
FROM sticks WHERE room_id = :room_id

-- stick_row -- the stick, the lease of its turn, and the handoff that waits for the next owner
SELECT s.turn_id, s.owner, s.reserved_for, s.pending_seq, s.received_seq, s.sequence_at, s.updated_at,
    l.lease_id, l.lease_expires_at, l.claim_expires_at, l.renewed_at, l.host_id, l.pid, l.process_started_at,
    l.session_key, l.session_kind, e.author, e.kind, e.body
FROM sticks s
LEFT JOIN leases l ON l.room_id = s.room_id AND l.turn_id = s.turn_id
LEFT JOIN events e ON e.room_id = s.room_id AND e.seq = s.pending_seq
WHERE s.room_id = :room_id

-- create --
INSERT INTO sticks (room_id, turn_id, updated_at) VALUES (:room_id, 0, :ts)

-- grant -- somebody owns the stick now
UPDATE sticks SET turn_id = :turn_id, owner = :owner, reserved_for = NULL, pending_seq = NULL,
    received_seq = :received_seq, updated_at = :ts
WHERE room_id = :room_id

-- hand_over -- nobody owns it; perhaps it is kept for someone
UPDATE sticks SET owner = NULL, reserved_for = :reserved_for, pending_seq = :pending_seq, received_seq = NULL,
    sequence_at = COALESCE(:reserved_for, sequence_at), updated_at = :ts
WHERE room_id = :room_id

-- revoke -- nobody owns it, and nothing was handed over
UPDATE sticks SET owner = NULL, reserved_for = :reserved_for, pending_seq = NULL, received_seq = NULL,
    sequence_at = COALESCE(:reserved_for, sequence_at), updated_at = :ts
WHERE room_id = :room_id

-- unreserve -- the one it was kept for has left
UPDATE sticks SET reserved_for = NULL, updated_at = :ts WHERE room_id = :room_id AND reserved_for = :agent_id

-- close --
UPDATE sticks SET owner = NULL, reserved_for = NULL, updated_at = :ts WHERE room_id = :room_id

-- put_lease --
INSERT INTO leases (room_id, turn_id, lease_id, lease_expires_at, claim_expires_at, renewed_at,
    host_id, pid, process_started_at, session_key, session_kind)
VALUES (:room_id, :turn_id, :lease_id, :lease_expires_at, :claim_expires_at, :renewed_at,
    :host_id, :pid, :process_started_at, :session_key, :session_kind)
ON CONFLICT (room_id) DO UPDATE SET
    turn_id = excluded.turn_id, lease_id = excluded.lease_id, lease_expires_at = excluded.lease_expires_at,
    claim_expires_at = excluded.claim_expires_at, renewed_at = excluded.renewed_at, host_id = excluded.host_id,
    pid = excluded.pid, process_started_at = excluded.process_started_at, session_key = excluded.session_key,
    session_kind = excluded.session_kind

-- lose -- a turn that was taken from somebody who has not looked since
INSERT INTO lost_turns (room_id, agent_id, turn_id, taken_by, reason)
VALUES (:room_id, :agent_id, :turn_id, :taken_by, :reason)
ON CONFLICT (room_id, agent_id) DO UPDATE SET
    turn_id = excluded.turn_id, taken_by = excluded.taken_by, reason = excluded.reason

-- lost --
SELECT turn_id, taken_by, reason FROM lost_turns WHERE room_id = :room_id AND agent_id = :agent_id

-- settle --
DELETE FROM lost_turns WHERE room_id = :room_id AND agent_id = :agent_id
