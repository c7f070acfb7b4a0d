-- issue --
INSERT INTO tokens (token_hash, principal, room_id, reach, label, created_at, expires_at)
VALUES (:token_hash, :principal, :room_id, :reach, :label, :created_at, :expires_at)

-- by_hash --
SELECT token_hash, principal, room_id, reach, label, created_at, expires_at, revoked_at, last_used_at
FROM tokens WHERE token_hash = :token_hash

-- every_token -- newest first
SELECT token_hash, principal, room_id, reach, label, created_at, expires_at, revoked_at, last_used_at
FROM tokens ORDER BY created_at DESC, token_hash

-- by_id -- the first characters of the hash, as listings show them
SELECT token_hash, principal, room_id, reach, label, created_at, expires_at, revoked_at, last_used_at
FROM tokens WHERE substr(token_hash, 1, 12) = :id

-- revoke --
UPDATE tokens SET revoked_at = :now WHERE token_hash = :token_hash AND revoked_at IS NULL

-- used --
UPDATE tokens SET last_used_at = :now, expires_at = :expires_at WHERE token_hash = :token_hash
