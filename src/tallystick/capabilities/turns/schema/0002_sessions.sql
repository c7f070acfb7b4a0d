ALTER TABLE leases ADD COLUMN session_key TEXT;
ALTER TABLE leases ADD COLUMN session_kind TEXT;
