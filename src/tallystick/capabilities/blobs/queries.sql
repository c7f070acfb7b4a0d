-- put --
INSERT INTO blobs (room_id, sha256, size, mime_type, name, seq)
VALUES (:room_id, :sha256, :size, :mime_type, :name, :seq)

-- in_room --
SELECT room_id, sha256, size, mime_type, name, seq FROM blobs WHERE room_id = :room_id AND sha256 = :sha256

-- anywhere -- in whichever room had it first
SELECT room_id, sha256, size, mime_type, name, seq FROM blobs WHERE sha256 = :sha256 ORDER BY room_id LIMIT 1
