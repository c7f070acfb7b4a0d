ALTER TABLE actions ADD COLUMN result_seq BIGINT;

ALTER TABLE actions ADD COLUMN reply_seq BIGINT;
