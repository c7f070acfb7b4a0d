-- at_or_above -- the active reservations of some folded keys (a JSON list)
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations
WHERE room_id = :room_id AND state = 'active' AND folded IN (SELECT value FROM json_each(:keys))
ORDER BY fence

-- below -- the active reservations whose folded keys lie in a range
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations
WHERE room_id = :room_id AND state = 'active' AND folded >= :first AND folded < :beyond
ORDER BY folded, fence

-- by_id --
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations WHERE room_id = :room_id AND reservation_id = :reservation_id

-- newest_of -- what an agent had of one path, the newest first
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations WHERE room_id = :room_id AND folded = :folded AND agent_id = :agent_id
ORDER BY fence DESC LIMIT 20

-- lapsed -- whose time is up, though nobody has written that down
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations WHERE room_id = :room_id AND state = 'active' AND until <= :now ORDER BY until, fence LIMIT :limit

-- active --
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations
WHERE room_id = :room_id AND state = 'active' AND until > :now AND (:task_id = '' OR task_id = :task_id)
ORDER BY folded, fence LIMIT :limit

-- active_of --
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations
WHERE room_id = :room_id AND state = 'active' AND agent_id = :agent_id AND until > :now
    AND (:task_id = '' OR task_id = :task_id)
ORDER BY fence LIMIT :limit

-- ended -- newest first
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations
WHERE room_id = :room_id AND (state <> 'active' OR until <= :now) AND (:agent_id = '' OR agent_id = :agent_id)
    AND (:task_id = '' OR task_id = :task_id)
ORDER BY fence DESC LIMIT :limit

-- recorded -- the reservations that an agent has already run into with one path
SELECT reservation_id, seq FROM incursions
WHERE room_id = :room_id AND incoming_agent = :incoming_agent AND incoming_key = :incoming_key
    AND reservation_id IN (SELECT value FROM json_each(:ids))

-- open_incursions -- attempts to enter what is still reserved, newest first
SELECT i.seq FROM incursions i
JOIN reservations r ON r.room_id = i.room_id AND r.reservation_id = i.reservation_id
WHERE i.room_id = :room_id AND r.state = 'active' AND r.until > :now
ORDER BY i.seq DESC LIMIT :limit

-- grant --
INSERT INTO reservations (room_id, reservation_id, agent_id, path, key, folded, folds, mode, task_id, fence, granted_at,
    until, state)
VALUES (:room_id, :reservation_id, :agent_id, :path, :key, :folded, :folds, :mode, :task_id, :fence, :granted_at,
    :until, 'active')

-- renew --
UPDATE reservations SET until = :until, mode = :mode, task_id = :task_id, path = :path
WHERE room_id = :room_id AND reservation_id = :reservation_id

-- end --
UPDATE reservations SET state = :state, ended_at = :ended_at, ended_by = :ended_by, ending = :ending
WHERE room_id = :room_id AND reservation_id = :reservation_id

-- end_of_agent --
UPDATE reservations SET state = 'released', ended_at = :ended_at, ended_by = :ended_by
WHERE room_id = :room_id AND agent_id = :agent_id AND state = 'active'

-- end_all --
UPDATE reservations SET state = 'released', ended_at = :ended_at, ended_by = :ended_by
WHERE room_id = :room_id AND state = 'active'

-- incur --
INSERT INTO incursions (room_id, reservation_id, incoming_agent, incoming_key, seq)
VALUES (:room_id, :reservation_id, :incoming_agent, :incoming_key, :seq)
ON CONFLICT (room_id, reservation_id, incoming_agent, incoming_key) DO UPDATE SET seq = excluded.seq

-- forget_incursions -- nothing overlaps a reservation that has ended
DELETE FROM incursions WHERE room_id = :room_id AND reservation_id = :reservation_id

-- forget_incursions_of_agent --
DELETE FROM incursions WHERE room_id = :room_id AND reservation_id IN (
    SELECT reservation_id FROM reservations WHERE room_id = :room_id AND agent_id = :agent_id AND state = 'active')

-- forget_every_incursion --
DELETE FROM incursions WHERE room_id = :room_id

-- losses -- what somebody has not yet taken note of, the newest first
SELECT path, fate FROM losses WHERE room_id = :room_id AND actor_id = :actor_id ORDER BY seq DESC LIMIT :limit

-- lose --
INSERT INTO losses (room_id, actor_id, seq, reservation_id, path, folded, fate)
VALUES (:room_id, :actor_id, :seq, :reservation_id, :path, :folded, :fate)

-- regain --
DELETE FROM losses WHERE room_id = :room_id AND actor_id = :actor_id AND folded = :folded

-- settle --
DELETE FROM losses WHERE room_id = :room_id AND actor_id = :actor_id AND seq < :seq
