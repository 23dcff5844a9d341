-- What an account's provider said last of its quotas. limit_n, used: NULL: not said. ours: what machines of ours took of it then.
-- counts: what it counts is known, by the columns up to accelerator, as patterns ('' all).
CREATE TABLE quota (
	account {text} NOT NULL,
	region {text} NOT NULL,
	zone {text} NOT NULL,
	name {text} NOT NULL,
	purchase {text} NOT NULL,
	unit {text} NOT NULL,
	any_purchase {i64} NOT NULL,
	provider {text} NOT NULL,
	types {text} NOT NULL,
	accelerator {text} NOT NULL,
	counts {i64} NOT NULL,
	limit_n {real},
	used {real},
	ours {real} NOT NULL,
	as_of {i64} NOT NULL,
	run {i64},
	PRIMARY KEY (account, region, zone, name, purchase)
) {strict};

-- When each account was asked for them. as_of: of the last whole answer, NULL: never. code, error: what came of the last try, '' an answer.
-- due: a launch was refused since, so that they are asked for again.
CREATE TABLE quota_reading (
	account {text} PRIMARY KEY,
	provider {text} NOT NULL,
	tried {i64} NOT NULL,
	as_of {i64},
	code {text} NOT NULL,
	error {text} NOT NULL,
	due {i64} NOT NULL,
	run {i64}
) {strict};
