-- A dated reservation: usable between two instants alone.
ALTER TABLE offer ADD COLUMN starts_at {i64} NOT NULL DEFAULT 0;
ALTER TABLE offer ADD COLUMN ends_at {i64} NOT NULL DEFAULT 0;
