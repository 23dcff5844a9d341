-- Jobs as other people's schedulers tell them: kept, so that a later export corrects them and extends those that ran,
-- and so that the series of any grouping can be made again.

-- Each set of labels once, as a JSON object with its keys in order.
CREATE TABLE usage_label (
	id {id},
	labels {text} NOT NULL UNIQUE
) {strict};

-- All jobs that were submitted in one hour, packed (src/store/usage_pack.c): a row of its own for each of millions of
-- jobs takes twice the room and many times as long. first_t: least submit; until_t: latest end; waiting: how many wait.
CREATE TABLE usage_hour (
	hour {i64} PRIMARY KEY,
	first_t {i64} NOT NULL,
	until_t {i64} NOT NULL,
	jobs {i64} NOT NULL,
	waiting {i64} NOT NULL,
	packed {blob} NOT NULL
) {strict};
CREATE INDEX usage_hour_waiting ON usage_hour (hour) WHERE waiting > 0;

-- The groupings that series are kept of: label names with commas between.
CREATE TABLE usage_view (
	keys {text} PRIMARY KEY,
	step_s {i64} NOT NULL CHECK (step_s > 0)
) {strict};
