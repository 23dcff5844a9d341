-- Machines of running jobs that do not answer, while nobody says that they are gone: since when, and whether that was told.
CREATE TABLE silent (
	instance_id {i64} PRIMARY KEY,
	since {i64} NOT NULL,
	told {i64} NOT NULL
) {clustered};
