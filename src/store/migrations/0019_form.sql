-- Which product the GPUs of a series were where its name says less (H100-80GB is SXM5 and PCIe), one row for each stretch
-- [t, until_t) in which that was the same. mix: shares of the GPU-seconds by product as a JSON object, '' where the source did
-- not say. unit_seconds: what they are shares of.
CREATE TABLE series_form (
	series_id {i64} NOT NULL,
	t {i64} NOT NULL,
	until_t {i64} NOT NULL CHECK (until_t > t),
	mix {text} NOT NULL,
	unit_seconds {real} NOT NULL,
	PRIMARY KEY (series_id, t)
) {clustered};

-- The same of a row that waits for the rest of its step.
ALTER TABLE raw ADD COLUMN form {text};
