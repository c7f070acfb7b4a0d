"""Facts: the append-only, hash-chained ledger of every room, and the projections folded from it.

`tx` is what operations work with, `reading` and `chain` look back, `rebuild` folds again, `operations` are `events.*`.
"""
