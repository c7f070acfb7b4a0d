-- at_or_above --
SELECT reservation_id, agent_id, path, key, folds, mode, task_id, fence, granted_at, until, state, ended_at, ended_by,
       ending
FROM reservations
WHERE room_id = :room_id AND state = 'active'
    AND folded IN (SELECT value FROM json_array_elements_text(CAST(:keys AS json)))
ORDER BY fence

-- recorded --
SELECT reservation_id, seq FROM incursions
WHERE room_id = :room_id AND incoming_agent = :incoming_agent AND incoming_key = :incoming_key
    AND reservation_id IN (SELECT value FROM json_array_elements_text(CAST(:ids AS json)))
