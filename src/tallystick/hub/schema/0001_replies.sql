CREATE TABLE replies (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (principal, key)
);

CREATE INDEX replies_by_age ON replies (principal, created_at);
