-- What a fleet remembers from one decision to the next (src/broker/scaling.h), as JSON.
CREATE TABLE fleet (
	name {text} PRIMARY KEY,
	t {i64} NOT NULL,
	state {text} NOT NULL,
	run {i64}
) {strict};

-- The jobs that are its replicas.
CREATE TABLE replica (
	job_id {text} PRIMARY KEY REFERENCES job (id),
	fleet {text} NOT NULL
) {strict};
CREATE INDEX replica_fleet ON replica (fleet);
