-- put --
INSERT INTO blobs (room_id, sha256, size, mime_type, name, seq)
VALUES (:room_id, :sha256, :size, :mime_type, :name, :seq)

-- in_room --
SELECT room_id, sha256, size, mime_type, name, seq FROM blobs WHERE room_id = :room_id AND sha256 = :sha256

-- anywhere -- in whichever room had it first
SELECT room_id, sha256, size, mime_type, name, seq FROM blobs WHERE sha256 = :sha256 ORDER BY room_id LIMIT 1

-- of_room --
SELECT sha256 FROM blobs WHERE room_id = :room_id ORDER BY sha256

-- keep_content -- for the hubs of other machines
INSERT INTO blob_contents (sha256, content) VALUES (:sha256, :content) ON CONFLICT DO NOTHING

-- content --
SELECT content FROM blob_contents WHERE sha256 = :sha256

-- forget_content --
DELETE FROM blob_contents WHERE sha256 = :sha256
