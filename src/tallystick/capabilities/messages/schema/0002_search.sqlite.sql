CREATE VIRTUAL TABLE texts USING fts5 (
    room_id,
    seq UNINDEXED,
    kind UNINDEXED,
    author UNINDEXED,
    ts UNINDEXED,
    words,
    detail = column,
    columnsize = 0,
    tokenize = 'ascii tokenchars ''-'''
);
