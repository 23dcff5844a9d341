-- What is known of a running job whose accelerators may do nothing (plan/idle.h): one row a job, of the machine that it runs on.
CREATE TABLE idling (
	job_id {text} PRIMARY KEY,
	instance_id {i64} NOT NULL,
	since {i64} NOT NULL,
	seen {i64} NOT NULL,
	readings {i64} NOT NULL,
	told {i64} NOT NULL,
	blind {i64} NOT NULL,
	busy {real} NOT NULL
) {clustered};
