-- has_schema --
SELECT to_regnamespace('tallystick') IS NOT NULL AS there

-- has_migrations --
SELECT to_regclass('tallystick.migrations') IS NOT NULL AS there

-- settings --
SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding,
       current_setting('lock_timeout') AS lock_timeout, current_setting('synchronous_commit') AS synchronous
