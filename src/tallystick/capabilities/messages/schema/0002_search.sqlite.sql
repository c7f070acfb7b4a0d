CREATE VIRTUAL TABLE texts USING fts5 (
    room_id,
    seq UNINDEXED,
    kind UNINDEXED,
    author UNINDEXED,
    ts UNINDEXED,
    words,
    tokenize = 'ascii tokenchars ''-'''
);
