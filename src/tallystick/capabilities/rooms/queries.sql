-- room --
SELECT room_id, title, canonical_path, policy, created_at, created_by, closed_at FROM rooms WHERE room_id = :room_id

-- every_room -- newest first
SELECT room_id, title, canonical_path, policy, created_at, created_by, closed_at
FROM rooms ORDER BY created_at DESC, room_id DESC LIMIT :limit

-- at_roots -- the open rooms of some roots (a JSON list) on this machine, deepest first
SELECT room_id, scope_key, machine_id, root FROM scopes
WHERE machine_id = :machine_id AND closed_at IS NULL AND root IN (SELECT value FROM json_each(:roots))
ORDER BY length(root) DESC

-- scopes --
SELECT room_id, scope_key, machine_id, root FROM scopes WHERE room_id = :room_id ORDER BY scope_key

-- lock_root -- two processes joining a new path must not both create its room (SQLite has one writer anyway)
SELECT 1 AS locked WHERE :root <> ''

-- create --
INSERT INTO rooms (room_id, title, canonical_path, policy, created_at, created_by)
VALUES (:room_id, :title, :canonical_path, :policy, :created_at, :created_by)

-- attach --
INSERT INTO scopes (room_id, scope_key, machine_id, root) VALUES (:room_id, :scope_key, :machine_id, :root)

-- set_policy --
UPDATE rooms SET policy = :policy WHERE room_id = :room_id

-- close --
UPDATE rooms SET closed_at = :closed_at WHERE room_id = :room_id

-- close_scopes -- a closed room gives its paths free
UPDATE scopes SET closed_at = :closed_at WHERE room_id = :room_id
