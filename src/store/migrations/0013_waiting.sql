-- A decision that stands as long as its reason does, as of a job that waits: when that was last so. NULL: it is of its moment.
ALTER TABLE decision ADD COLUMN seen {i64};

-- Why each queued job waits now: its decision, what tells the reason from another one, a digest of all that is said of it.
CREATE TABLE waiting (
	job_id {text} PRIMARY KEY,
	decision_id {i64} NOT NULL REFERENCES decision (id),
	reason {text} NOT NULL,
	digest {i64} NOT NULL,
	seen {i64} NOT NULL
) {clustered};
