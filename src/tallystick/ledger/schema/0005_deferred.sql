ALTER TABLE heads ADD COLUMN deferred_seq BIGINT NOT NULL DEFAULT 0;

UPDATE heads SET deferred_seq = seq;
