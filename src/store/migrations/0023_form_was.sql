-- What series_form held of a series for plans up to plan_id, before a load changed it behind them: all of its runs, and one that
-- ends where it begins, so that none is told from nothing kept.
CREATE TABLE series_form_was (
	series_id {i64} NOT NULL,
	plan_id {i64} NOT NULL,
	t {i64} NOT NULL,
	until_t {i64} NOT NULL,
	mix {text} NOT NULL,
	unit_seconds {real} NOT NULL,
	PRIMARY KEY (series_id, plan_id, t)
) {clustered};
