CREATE TABLE texts (
    room_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    ts BIGINT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (room_id, seq)
);

CREATE INDEX texts_by_word ON texts USING gin (array_to_tsvector(string_to_array(words, ' ')));
