COMMENT ON TABLE deliveries IS 'Stored by its key in SQLite; a table here is stored as before.';
