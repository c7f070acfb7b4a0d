-- action --
SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
    finished, replied
FROM actions WHERE room_id = :room_id AND action_id = :action_id

-- group -- any action of a submitter's group
SELECT action_id FROM actions WHERE room_id = :room_id AND src = :src AND group_id = :group_id LIMIT 1

-- group_actions -- a submitter's group with where its results and replies stand
SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
    finished, replied, result_seq, reply_seq
FROM actions WHERE room_id = :room_id AND src = :src AND group_id = :group_id ORDER BY action_index

-- heads -- the first of each lane that still holds up the others
SELECT * FROM (
    SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
        finished, replied
    FROM actions WHERE room_id = :room_id AND dst = :dst AND lane = 0 AND released = 0 ORDER BY seq LIMIT 1
) AS ordinary
UNION ALL
SELECT * FROM (
    SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
        finished, replied
    FROM actions WHERE room_id = :room_id AND dst = :dst AND lane = 1 AND released = 0 ORDER BY seq LIMIT 1
) AS interrupt

-- waiting -- how many of a lane are not released yet, counted up to a limit
SELECT COUNT(*) AS number FROM (
    SELECT 1 AS one FROM actions
    WHERE room_id = :room_id AND dst = :dst AND lane = :lane AND released = 0 LIMIT :limit
) AS unreleased

-- owed -- what a target has not finished, oldest first
SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
    finished, replied
FROM actions WHERE room_id = :room_id AND dst = :dst AND finished = 0 ORDER BY seq LIMIT :limit

-- awaited -- what a submitter has no final result of, oldest first
SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
    finished, replied
FROM actions WHERE room_id = :room_id AND src = :src AND finished = 0 ORDER BY seq LIMIT :limit

-- unfinished -- what waits for a target, or for anybody
SELECT action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane, status, released,
    finished, replied
FROM actions WHERE room_id = :room_id AND finished = 0 AND (:dst = '' OR dst = :dst) ORDER BY seq

-- attachment --
SELECT agent_id, program, away FROM attachments WHERE room_id = :room_id AND agent_id = :agent_id

-- attached --
SELECT agent_id FROM attachments WHERE room_id = :room_id ORDER BY agent_id

-- attach --
INSERT INTO attachments (room_id, agent_id, program, away) VALUES (:room_id, :agent_id, :program, 0)
ON CONFLICT (room_id, agent_id) DO UPDATE SET program = :program, away = 0

-- detach --
UPDATE attachments SET away = 1 WHERE room_id = :room_id AND agent_id = :agent_id

-- forget_attachment --
DELETE FROM attachments WHERE room_id = :room_id AND agent_id = :agent_id

-- conversation --
SELECT context_id, owner_id, exchanges FROM conversations WHERE room_id = :room_id AND context_id = :context_id

-- submit --
INSERT INTO actions (room_id, action_id, seq, group_id, action_index, src, dst, type, kind, command, context_id, lane,
    status, released, finished, replied)
VALUES (:room_id, :action_id, :seq, :group_id, :action_index, :src, :dst, :type, :kind, :command, :context_id, :lane,
    :status, :settled, :settled, 0)

-- settle --
UPDATE actions SET status = :status, released = :released, finished = :finished, result_seq = :result_seq
WHERE room_id = :room_id AND action_id = :action_id

-- reply --
UPDATE actions SET replied = 1, reply_seq = :reply_seq WHERE room_id = :room_id AND action_id = :action_id

-- converse --
INSERT INTO conversations (room_id, context_id, owner_id, opened_seq, exchanges)
VALUES (:room_id, :context_id, :owner_id, :opened_seq, 0)
ON CONFLICT (room_id, context_id) DO NOTHING

-- exchange -- one more question of a conversation has been answered
UPDATE conversations SET exchanges = exchanges + 1 WHERE room_id = :room_id AND context_id = :context_id
