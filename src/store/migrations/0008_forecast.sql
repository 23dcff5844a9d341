-- A forecast in few bytes (src/store/forecast_pack.h). NULL: as the JSON of earlier versions, which is '' where this is there.
ALTER TABLE forecast ADD COLUMN packed {blob};

-- What is kept of a forecast whose time is over, or that others of its day stand for: how it did. known_s: so much of its
-- horizon was known.
CREATE TABLE forecast_score (
	series {text} NOT NULL,
	as_of {i64} NOT NULL,
	horizon_s {i64} NOT NULL,
	made {i64} NOT NULL,
	known_s {i64} NOT NULL,
	mase {real},
	smape {real},
	pinball {real},
	coverage90 {real},
	peak_pinball95 {real},
	peak_exceeded95 {real},
	run {i64},
	PRIMARY KEY (series, as_of, horizon_s)
) {clustered};
