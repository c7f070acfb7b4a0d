-- Browsers sent these to every other server of the host, and each was a token for everything.
UPDATE tokens SET revoked_at = created_at WHERE label = 'browser' AND principal = 'user' AND revoked_at IS NULL;
