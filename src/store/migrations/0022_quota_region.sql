-- Of accounts that are asked region by region: how each ended last. as_of: of its last whole answer, NULL: never. code, error: as in
-- quota_reading.
CREATE TABLE quota_region (
	account {text} NOT NULL,
	region {text} NOT NULL,
	as_of {i64},
	code {text} NOT NULL,
	error {text} NOT NULL,
	run {i64},
	PRIMARY KEY (account, region)
) {strict};
