-- Steps that are rolled up, and the ledger that says what all steps add up to.

-- Seconds of a step that are known, where they are not all of it; the mean of such a step is that of these seconds.
CREATE TABLE sample_part (
	series_id {i64} NOT NULL,
	t {i64} NOT NULL,
	covered_s {i64} NOT NULL CHECK (covered_s > 0),
	PRIMARY KEY (series_id, t)
) {clustered};

-- One hour (tier 0) or UTC day (tier 1) of a series whose steps are not kept singly any more. total: unit-seconds as a whole
-- number of 2^-20, the high and the low 64 bits of it. runs NULL: each step is there. digest: of the whole row.
CREATE TABLE rollup (
	series_id {i64} NOT NULL,
	tier {i64} NOT NULL,
	t {i64} NOT NULL,
	covered_s {i64} NOT NULL,
	steps {i64} NOT NULL,
	total_hi {i64} NOT NULL,
	total_lo {i64} NOT NULL,
	peak {real} NOT NULL,
	runs {blob},
	sketch {blob} NOT NULL,
	digest {i64} NOT NULL,
	PRIMARY KEY (series_id, tier, t)
) {clustered};

-- Up to where a series is rolled up.
CREATE TABLE rollup_mark (
	series_id {i64} PRIMARY KEY,
	hour_until {i64} NOT NULL,
	day_until {i64} NOT NULL
) {strict};

-- What the steps of 16 days (16 steps of longer ones) add up to, in whatever tier they lie.
CREATE TABLE ledger_step (
	series_id {i64} NOT NULL,
	t {i64} NOT NULL,
	steps {i64} NOT NULL,
	covered_s {i64} NOT NULL,
	total_hi {i64} NOT NULL,
	total_lo {i64} NOT NULL,
	PRIMARY KEY (series_id, t)
) {clustered};

-- What each load added to all of them, and how many of its rows came too late for a step that is rolled up.
ALTER TABLE load ADD COLUMN steps {i64} NOT NULL DEFAULT 0;
ALTER TABLE load ADD COLUMN covered_s {i64} NOT NULL DEFAULT 0;
ALTER TABLE load ADD COLUMN total_hi {i64} NOT NULL DEFAULT 0;
ALTER TABLE load ADD COLUMN total_lo {i64} NOT NULL DEFAULT 0;
ALTER TABLE load ADD COLUMN late {i64} NOT NULL DEFAULT 0;
ALTER TABLE load ADD COLUMN options {text} NOT NULL DEFAULT '';
CREATE INDEX load_digest ON load (digest) WHERE digest <> '';
