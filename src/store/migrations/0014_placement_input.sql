-- What a placement was made from (src/store/snapshot.h), packed; that of the newest ones.
CREATE TABLE placement_input (
	decision_id {i64} PRIMARY KEY REFERENCES decision (id),
	t {i64} NOT NULL,
	packed {blob} NOT NULL
) {clustered};
