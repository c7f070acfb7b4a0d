-- lock_root --
SELECT 1 AS locked FROM pg_advisory_xact_lock(hashtextextended(:root, 7433))
