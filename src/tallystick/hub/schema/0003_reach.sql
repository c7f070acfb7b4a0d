ALTER TABLE tokens ADD COLUMN reach TEXT NOT NULL DEFAULT 'work';

-- A token from before could do everything; only the person's own still can.
UPDATE tokens SET reach = 'manage' WHERE principal = 'user';
