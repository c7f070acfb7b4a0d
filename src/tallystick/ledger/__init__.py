"""Facts: the append-only, hash-chained ledger of every room, and the projections folded from it.

`tx` is what operations work with, `reading` looks back, `verification` proves that nothing was
changed, `rebuild` folds again, `operations` are `events.*`.
"""
