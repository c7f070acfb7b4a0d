-- newest_task --
SELECT MAX(number) AS number FROM tasks WHERE room_id = :room_id

-- task --
SELECT room_id, number, task_id, revision, status, title, assignee, anchor_id, created_by, created_at, updated_at,
    updated_seq, details
FROM tasks WHERE room_id = :room_id AND number = :number

-- tasks -- the most recently changed first, before a place
SELECT room_id, number, task_id, revision, status, title, assignee, anchor_id, created_by, created_at, updated_at,
    updated_seq, details
FROM tasks WHERE room_id = :room_id AND updated_seq < :before
    AND (:status = '' OR status = :status) AND (:assignee = '' OR assignee = :assignee)
    AND (:anchor = '' OR anchor_id = :anchor)
ORDER BY updated_seq DESC LIMIT :limit

-- tasks_in_progress -- what an agent is working on
SELECT room_id, number, task_id, revision, status, title, assignee, anchor_id, created_by, created_at, updated_at,
    updated_seq, details
FROM tasks WHERE room_id = :room_id AND assignee = :assignee AND status = 'running' ORDER BY number LIMIT :limit

-- put_task --
INSERT INTO tasks (room_id, number, task_id, revision, status, title, assignee, anchor_id, created_by, created_at,
    updated_at, updated_seq, details)
VALUES (:room_id, :number, :task_id, :revision, :status, :title, :assignee, :anchor_id, :created_by, :created_at,
    :updated_at, :updated_seq, :details)
ON CONFLICT (room_id, number) DO UPDATE SET
    revision = excluded.revision, status = excluded.status, title = excluded.title, assignee = excluded.assignee,
    anchor_id = excluded.anchor_id, updated_at = excluded.updated_at, updated_seq = excluded.updated_seq,
    details = excluded.details

-- focus --
SELECT number FROM task_focus WHERE room_id = :room_id AND principal = :principal

-- put_focus --
INSERT INTO task_focus (room_id, principal, number) VALUES (:room_id, :principal, :number)
ON CONFLICT (room_id, principal) DO UPDATE SET number = excluded.number

-- drop_focus --
DELETE FROM task_focus WHERE room_id = :room_id AND principal = :principal

-- newest_card --
SELECT MAX(number) AS number FROM cards WHERE room_id = :room_id

-- card --
SELECT room_id, number, card_id, revision, pinned, type, title, tags, refs, created_by, created_at, updated_at,
    updated_seq, body
FROM cards WHERE room_id = :room_id AND number = :number

-- cards -- pinned ones first, then the most recently changed
SELECT room_id, number, card_id, revision, pinned, type, title, tags, refs, created_by, created_at, updated_at,
    updated_seq, body
FROM cards WHERE room_id = :room_id AND (:type = '' OR type = :type) AND (:pinned = 0 OR pinned = 1)
ORDER BY pinned DESC, updated_seq DESC LIMIT :limit

-- cards_tagged --
SELECT c.room_id, c.number, c.card_id, c.revision, c.pinned, c.type, c.title, c.tags, c.refs, c.created_by,
    c.created_at, c.updated_at, c.updated_seq, c.body
FROM card_tags t JOIN cards c ON c.room_id = t.room_id AND c.number = t.number
WHERE t.room_id = :room_id AND t.tag = :tag AND (:type = '' OR c.type = :type) AND (:pinned = 0 OR c.pinned = 1)
ORDER BY c.pinned DESC, c.updated_seq DESC LIMIT :limit

-- put_card --
INSERT INTO cards (room_id, number, card_id, revision, pinned, type, title, tags, refs, created_by, created_at,
    updated_at, updated_seq, body)
VALUES (:room_id, :number, :card_id, :revision, :pinned, :type, :title, :tags, :refs, :created_by, :created_at,
    :updated_at, :updated_seq, :body)
ON CONFLICT (room_id, number) DO UPDATE SET
    revision = excluded.revision, pinned = excluded.pinned, type = excluded.type, title = excluded.title,
    tags = excluded.tags, refs = excluded.refs, updated_at = excluded.updated_at,
    updated_seq = excluded.updated_seq, body = excluded.body

-- untag --
DELETE FROM card_tags WHERE room_id = :room_id AND number = :number

-- tag --
INSERT INTO card_tags (room_id, tag, number) VALUES (:room_id, :tag, :number)

-- anchor --
SELECT anchor_id, title, paths, created_by, created_at, updated_at FROM anchors
WHERE room_id = :room_id AND anchor_id = :anchor_id

-- anchors --
SELECT anchor_id, title, paths, created_by, created_at, updated_at FROM anchors
WHERE room_id = :room_id AND anchor_id > :after ORDER BY anchor_id LIMIT :limit

-- put_anchor --
INSERT INTO anchors (room_id, anchor_id, title, paths, created_by, created_at, updated_at)
VALUES (:room_id, :anchor_id, :title, :paths, :created_by, :now, :now)
ON CONFLICT (room_id, anchor_id) DO UPDATE SET
    title = excluded.title, paths = excluded.paths, updated_at = excluded.updated_at
