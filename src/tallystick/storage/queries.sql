-- create_migrations --
CREATE TABLE IF NOT EXISTS migrations (id TEXT PRIMARY KEY, checksum TEXT NOT NULL, position BIGINT NOT NULL)

-- applied --
SELECT id, checksum FROM migrations ORDER BY position

-- record --
INSERT INTO migrations (id, checksum, position) SELECT :id, :checksum, count(*) FROM migrations
