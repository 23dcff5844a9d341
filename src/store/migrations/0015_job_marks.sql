-- What is known of a queued job from tick to tick (enum job_mark), as words with blanks between. Until now its reason told.
ALTER TABLE job ADD COLUMN marks {text} NOT NULL DEFAULT '';
UPDATE job SET marks = TRIM(
	CASE WHEN reason LIKE '%its place is kept%' THEN 'kept ' ELSE '' END ||
	CASE WHEN reason LIKE 'waits to learn what became of a launch%' THEN 'launch_unknown ' ELSE '' END ||
	CASE WHEN reason LIKE '%budget%' OR reason LIKE '%costs more than is left%' THEN 'unpaid ' ELSE '' END ||
	CASE WHEN reason LIKE '%would end after the deadline%' THEN 'late ' ELSE '' END ||
	CASE WHEN reason LIKE '%the deadline is at risk%' THEN 'at_risk' ELSE '' END)
WHERE state = 'queued';

-- A reservation of nothing, as of a job on a commitment that costs nothing an hour, was kept as one micro-USD.
CREATE TABLE reservation_new (
	id {id},
	intent_id {i64},
	account {text} NOT NULL,
	project {text} NOT NULL,
	user_name {text} NOT NULL,
	job_id {text} NOT NULL,
	amount {i64} NOT NULL CHECK (amount >= 0),
	held {i64} NOT NULL CHECK (held >= 0),
	made {i64} NOT NULL,
	settled {i64},
	run {i64}
) {strict};
INSERT INTO reservation_new (id, intent_id, account, project, user_name, job_id, amount, held, made, settled, run)
SELECT id, intent_id, account, project, user_name, job_id, CASE WHEN amount = 1 AND held = 0 THEN 0 ELSE amount END, held, made,
	settled, run FROM reservation;
DROP TABLE reservation;
ALTER TABLE reservation_new RENAME TO reservation;
CREATE INDEX reservation_open ON reservation (intent_id) WHERE settled IS NULL;
