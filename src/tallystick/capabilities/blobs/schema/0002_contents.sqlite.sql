CREATE TABLE blob_contents (
    sha256 TEXT NOT NULL PRIMARY KEY,
    content BLOB NOT NULL
);
