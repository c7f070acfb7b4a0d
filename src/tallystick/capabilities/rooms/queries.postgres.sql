-- at_roots --
SELECT room_id, scope_key, machine_id, root FROM scopes
WHERE machine_id = :machine_id AND closed_at IS NULL
    AND root IN (SELECT value FROM json_array_elements_text(CAST(:roots AS json)))
ORDER BY length(root) DESC

-- lock_root --
SELECT 1 AS locked FROM pg_advisory_xact_lock(hashtextextended(:root, 7433))
