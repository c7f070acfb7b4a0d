-- create_migrations --
CREATE TABLE IF NOT EXISTS migrations
    (id TEXT COLLATE "C" PRIMARY KEY, checksum TEXT COLLATE "C" NOT NULL, position BIGINT NOT NULL)
