-- reply --
SELECT digest, answer FROM replies WHERE principal = :principal AND key = :key

-- keep --
INSERT INTO replies (principal, key, digest, answer, created_at)
VALUES (:principal, :key, :digest, :answer, :created_at)

-- forget_older --
DELETE FROM replies WHERE principal = :principal AND created_at < :before
