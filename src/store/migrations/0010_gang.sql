-- Creates of one gang: gang is the id of the first of them (0: a machine alone), machines how many they are, rank from 0.
ALTER TABLE intent ADD COLUMN gang {i64} NOT NULL DEFAULT 0;
ALTER TABLE intent ADD COLUMN rank {i64} NOT NULL DEFAULT 0;
ALTER TABLE intent ADD COLUMN machines {i64} NOT NULL DEFAULT 1;
CREATE INDEX intent_gang ON intent (gang) WHERE gang > 0;
