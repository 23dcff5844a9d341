-- Rows of bills that are about GPUs: kept by a key of our own, for a bill has none, so that what comes again changes nothing,
-- what is corrected replaces, and late corrections add to what they correct.

CREATE TABLE bill_label (
	id {id},
	labels {text} NOT NULL UNIQUE
) {strict};

-- key_hi, key_lo: of what identifies the row; n: the how many-th with this key. scope: bill of one account in one billing
-- period. used 0: a commitment that nobody used. gone 1: a newer bill of this scope no longer has the row.
CREATE TABLE bill_row (
	start_t {i64} NOT NULL,
	key_hi {i64} NOT NULL,
	key_lo {i64} NOT NULL,
	n {i64} NOT NULL,
	end_t {i64} NOT NULL,
	scope {i64} NOT NULL,
	label {i64} NOT NULL,
	used {i64} NOT NULL,
	gone {i64} NOT NULL,
	gpu_hours {real} NOT NULL,
	cost {real},
	currency {text} NOT NULL,
	PRIMARY KEY (start_t, key_hi, key_lo, n)
) {clustered};
CREATE INDEX bill_row_scope ON bill_row (scope);

-- The groupings that series are kept of: label names with commas between.
CREATE TABLE bill_view (
	keys {text} PRIMARY KEY
) {strict};
