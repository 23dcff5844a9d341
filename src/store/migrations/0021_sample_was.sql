-- Steps of series that loads have changed behind a plan: what plans up to plan_id found there. mean NULL: nothing; covered_s NULL: all of the step.
CREATE TABLE sample_was (
	series_id {i64} NOT NULL,
	t {i64} NOT NULL,
	plan_id {i64} NOT NULL,
	mean {real},
	peak {real},
	covered_s {i64},
	PRIMARY KEY (series_id, t, plan_id)
) {clustered};
