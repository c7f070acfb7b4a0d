-- members -- in turn order
SELECT a.agent_id, a.name, a.role, a.harness, a.scope_key, a.ordinal, a.joined_at, a.in_order,
       p.last_seen_at, p.session_kind, p.host_id, p.pid, p.process_started_at, p.progressed_at, p.wants_until
FROM agents a LEFT JOIN presence p ON p.room_id = a.room_id AND p.agent_id = a.agent_id
WHERE a.room_id = :room_id ORDER BY a.ordinal, a.agent_id

-- roster -- in turn order
SELECT agent_id, name, role, harness, scope_key, ordinal, joined_at, in_order
FROM agents WHERE room_id = :room_id ORDER BY ordinal, agent_id

-- participant --
SELECT agent_id, name, role, harness, scope_key, ordinal, joined_at, in_order
FROM agents WHERE room_id = :room_id AND agent_id = :agent_id

-- member --
SELECT a.agent_id, a.name, a.role, a.harness, a.scope_key, a.ordinal, a.joined_at, a.in_order,
       p.last_seen_at, p.session_kind, p.host_id, p.pid, p.process_started_at, p.progressed_at, p.wants_until
FROM agents a LEFT JOIN presence p ON p.room_id = a.room_id AND p.agent_id = a.agent_id
WHERE a.room_id = :room_id AND a.agent_id = :agent_id

-- touch -- the call proves the agent is here, and says through which process
INSERT INTO presence (room_id, agent_id, last_seen_at, session_kind, host_id, pid, process_started_at)
VALUES (:room_id, :agent_id, :now, :session_kind, :host_id, :pid, :process_started_at)
ON CONFLICT (room_id, agent_id) DO UPDATE SET
    last_seen_at = excluded.last_seen_at, session_kind = excluded.session_kind, host_id = excluded.host_id,
    pid = excluded.pid, process_started_at = excluded.process_started_at

-- seen -- the call proves the agent is here; the process facts stay
UPDATE presence SET last_seen_at = :now WHERE room_id = :room_id AND agent_id = :agent_id

-- supersede -- a session that is to be told that a newer one took its place
INSERT INTO superseded (room_id, agent_id, session_key, told) VALUES (:room_id, :agent_id, :session_key, 0)
ON CONFLICT (room_id, agent_id, session_key) DO UPDATE SET told = 0

-- superseded --
SELECT told FROM superseded WHERE room_id = :room_id AND agent_id = :agent_id AND session_key = :session_key

-- tell --
UPDATE superseded SET told = 1
WHERE room_id = :room_id AND agent_id = :agent_id AND session_key = :session_key

-- reinstate -- the only session of its name again
DELETE FROM superseded WHERE room_id = :room_id AND agent_id = :agent_id AND session_key = :session_key

-- add --
INSERT INTO agents (room_id, agent_id, name, role, harness, scope_key, ordinal, joined_at, in_order)
VALUES (:room_id, :agent_id, :name, :role, :harness, :scope_key, :ordinal, :joined_at, :in_order)

-- update --
UPDATE agents SET name = :name, role = :role WHERE room_id = :room_id AND agent_id = :agent_id

-- remove --
DELETE FROM agents WHERE room_id = :room_id AND agent_id = :agent_id

-- forget --
DELETE FROM presence WHERE room_id = :room_id AND agent_id = :agent_id

-- place --
UPDATE agents SET ordinal = :ordinal WHERE room_id = :room_id AND agent_id = :agent_id

-- enter --
UPDATE agents SET in_order = 1, ordinal = :ordinal WHERE room_id = :room_id AND agent_id = :agent_id

-- want -- until when a member counts as waiting for the stick
UPDATE presence SET wants_until = :until WHERE room_id = :room_id AND agent_id = :agent_id

-- withdraw -- its session has ended, though it stays a member
UPDATE presence SET last_seen_at = 0, wants_until = 0, host_id = NULL, pid = NULL, process_started_at = NULL
WHERE room_id = :room_id AND agent_id = :agent_id

-- adopted -- whom a session acts for
SELECT agent_id FROM adoptions WHERE room_id = :room_id AND session_id = :session_id

-- adopt --
INSERT INTO adoptions (room_id, session_id, agent_id) VALUES (:room_id, :session_id, :agent_id)

-- disown -- an agent has one session at a time, and a session acts for one agent
DELETE FROM adoptions WHERE room_id = :room_id AND (agent_id = :agent_id OR session_id = :session_id)

-- allow_adoption --
INSERT INTO adoption_grants (room_id, agent_id, session_id, seq) VALUES (:room_id, :agent_id, :session_id, :seq)
ON CONFLICT (room_id, agent_id, session_id) DO UPDATE SET seq = excluded.seq

-- adoption_grant -- the event with which a person let this session go on as that agent
SELECT seq FROM adoption_grants WHERE room_id = :room_id AND agent_id = :agent_id AND session_id = :session_id

-- use_up_grant --
DELETE FROM adoption_grants WHERE room_id = :room_id AND agent_id = :agent_id AND session_id = :session_id

-- keep_name -- a name stays with whoever had it first
INSERT INTO agent_names (room_id, name, agent_id) VALUES (:room_id, :name, :agent_id)
ON CONFLICT (room_id, name) DO NOTHING

-- owner_of_name --
SELECT agent_id FROM agent_names WHERE room_id = :room_id AND name = :name

-- names --
SELECT name FROM agent_names WHERE room_id = :room_id

-- progress --
UPDATE presence SET progressed_at = :now WHERE room_id = :room_id AND agent_id = :agent_id
