-- The first schema. Times are seconds since the epoch UTC, money is whole micro-USD, "" is "not said" and NULL is unknown.
-- Facts carry the run that wrote them. Derived columns and tables are made again by `berth store rebuild`:
-- series.first_t last_t samples peak, fleet_speed, capacity.

CREATE TABLE meta (
	key {text} PRIMARY KEY,
	value {text} NOT NULL
) {strict};

CREATE TABLE run (
	id {id},
	verb {text} NOT NULL,
	args {text} NOT NULL,
	host {text} NOT NULL,
	pid {i64} NOT NULL,
	started {i64} NOT NULL,
	ended {i64},
	exit_status {i64}
) {strict};

-- Demand history.

CREATE TABLE series (
	id {id},
	name {text} NOT NULL UNIQUE,
	labels {text} NOT NULL,
	unit {text} NOT NULL,
	step_s {i64} NOT NULL CHECK (step_s > 0),
	interval_s {i64},
	first_t {i64},
	last_t {i64},
	samples {i64} NOT NULL DEFAULT 0,
	peak {real},
	run {i64}
) {strict};

-- peak NULL: the same as mean. No foreign key: ten million rows come in one load; `berth store check` looks instead.
CREATE TABLE sample (
	series_id {i64} NOT NULL,
	t {i64} NOT NULL,
	mean {real} NOT NULL,
	peak {real},
	PRIMARY KEY (series_id, t)
) {clustered};

-- Source rows of steps that are covered in part only, until the rest of the step comes. A row that is in force in two
-- such steps is there under both.
CREATE TABLE raw (
	series_id {i64} NOT NULL REFERENCES series (id) ON DELETE CASCADE,
	step {i64} NOT NULL,
	t {i64} NOT NULL,
	source {i64} NOT NULL,
	value {real} NOT NULL,
	peak {real} NOT NULL,
	PRIMARY KEY (series_id, step, t, source)
) {clustered};

CREATE TABLE load (
	id {id},
	run {i64},
	t {i64} NOT NULL,
	format {text} NOT NULL,
	source {text} NOT NULL,
	digest {text} NOT NULL,
	rows_read {i64} NOT NULL,
	rows_stored {i64} NOT NULL,
	rows_duplicate {i64} NOT NULL,
	rows_replaced {i64} NOT NULL,
	rows_refused {i64} NOT NULL,
	first_t {i64},
	last_t {i64}
) {strict};

-- Prices.

CREATE TABLE price_list (
	id {id},
	provider {text} NOT NULL,
	account {text} NOT NULL,
	source {text} NOT NULL,
	fetched {i64} NOT NULL,
	stale_since {i64},
	reason {text} NOT NULL,
	run {i64},
	UNIQUE (provider, account, source)
) {strict};

-- One row is one stretch of time [from_t, until_t) in which nothing about the offer but its as_of changed; until_t NULL: now.
CREATE TABLE offer (
	id {id},
	list_id {i64} NOT NULL REFERENCES price_list (id),
	provider {text} NOT NULL,
	account {text} NOT NULL,
	region {text} NOT NULL,
	zone {text} NOT NULL,
	instance_type {text} NOT NULL,
	accelerator {text} NOT NULL,
	accelerator_known {i64} NOT NULL,
	accelerator_count {i64} NOT NULL,
	accelerator_memory_gib {real},
	vcpus {real},
	memory_gib {real},
	purchase {text} NOT NULL,
	term_months {i64} NOT NULL,
	payment {text} NOT NULL,
	upfront {i64},
	price {i64},
	currency {text} NOT NULL,
	available {text} NOT NULL,
	interruption_rate {real},
	as_of {i64},
	source {text} NOT NULL,
	from_t {i64} NOT NULL,
	until_t {i64},
	run {i64}
) {strict};
CREATE INDEX offer_list ON offer (list_id) WHERE until_t IS NULL;
CREATE INDEX offer_current ON offer (accelerator, purchase, provider) WHERE until_t IS NULL;
CREATE INDEX offer_history ON offer (accelerator, provider, from_t);

CREATE TABLE commitment (
	id {id},
	offer {text} NOT NULL,
	count {i64} NOT NULL,
	from_t {i64} NOT NULL,
	to_t {i64} NOT NULL,
	source {text} NOT NULL,
	note {text} NOT NULL,
	run {i64}
) {strict};

-- What was foreseen, planned and decided.

CREATE TABLE forecast (
	id {id},
	run {i64},
	series {text} NOT NULL,
	as_of {i64} NOT NULL,
	horizon_s {i64} NOT NULL,
	made {i64} NOT NULL,
	json {text} NOT NULL
) {strict};
CREATE INDEX forecast_series ON forecast (series, id);

CREATE TABLE plan (
	id {id},
	run {i64},
	made {i64} NOT NULL,
	json {text} NOT NULL,
	inputs {text} NOT NULL
) {strict};

CREATE TABLE decision (
	id {id},
	run {i64},
	t {i64} NOT NULL,
	kind {text} NOT NULL,
	subject {text} NOT NULL,
	json {text} NOT NULL
) {strict};
CREATE INDEX decision_subject ON decision (subject, id);

-- Jobs and machines.

CREATE TABLE job (
	id {text} PRIMARY KEY,
	name {text} NOT NULL,
	user_name {text} NOT NULL,
	project {text} NOT NULL,
	priority {i64} NOT NULL,
	state {text} NOT NULL,
	reason {text} NOT NULL,
	progress {real} NOT NULL,
	submitted {i64} NOT NULL,
	started {i64},
	finished {i64},
	tries {i64} NOT NULL,
	preemptions {i64} NOT NULL,
	cost {i64} NOT NULL,
	spec {text} NOT NULL,
	run {i64}
) {strict};
CREATE INDEX job_state ON job (state);

CREATE TABLE intent (
	id {id},
	kind {text} NOT NULL,
	account {text} NOT NULL,
	token {text} NOT NULL,
	job_id {text} NOT NULL,
	instance_id {i64},
	offer {text} NOT NULL,
	state {text} NOT NULL,
	created {i64} NOT NULL,
	settled {i64},
	reason {text} NOT NULL,
	run {i64}
) {strict};
CREATE UNIQUE INDEX intent_token ON intent (token) WHERE kind = 'create';
CREATE INDEX intent_pending ON intent (id) WHERE state = 'pending';

CREATE TABLE instance (
	id {id},
	account {text} NOT NULL,
	provider_ref {text} NOT NULL,
	intent_id {i64} REFERENCES intent (id),
	job_id {text} NOT NULL,
	offer {text} NOT NULL,
	state {text} NOT NULL,
	address {text} NOT NULL,
	created {i64} NOT NULL,
	ready {i64},
	notice_at {i64},
	reclaim_at {i64},
	gone {i64},
	end_reason {text} NOT NULL,
	cost {i64} NOT NULL,
	verdict {text} NOT NULL,
	speed {real},
	run {i64},
	UNIQUE (account, provider_ref)
) {strict};
CREATE INDEX instance_intent ON instance (intent_id);
CREATE INDEX instance_alive ON instance (id) WHERE state <> 'gone';

CREATE TABLE attempt (
	id {id},
	job_id {text} NOT NULL REFERENCES job (id),
	instance_id {i64},
	state {text} NOT NULL,
	started {i64} NOT NULL,
	ended {i64},
	progress_start {real} NOT NULL,
	progress_end {real},
	reason {text} NOT NULL,
	run {i64}
) {strict};
CREATE INDEX attempt_job ON attempt (job_id, id);

CREATE TABLE measurement (
	id {id},
	instance_id {i64},
	t {i64} NOT NULL,
	provider {text} NOT NULL,
	region {text} NOT NULL,
	zone {text} NOT NULL,
	instance_type {text} NOT NULL,
	accelerator {text} NOT NULL,
	host {text} NOT NULL,
	mode {text} NOT NULL,
	level {text} NOT NULL,
	speed {real},
	verdict {text} NOT NULL,
	reason {text} NOT NULL,
	json {text} NOT NULL,
	run {i64}
) {strict};
CREATE INDEX measurement_fleet ON measurement (provider, region, instance_type, accelerator, t);
CREATE INDEX measurement_instance ON measurement (instance_id, t);

CREATE TABLE probe (
	measurement_id {i64} NOT NULL REFERENCES measurement (id),
	n {i64} NOT NULL,
	test {text} NOT NULL,
	gpu {i64} NOT NULL,
	peer {i64} NOT NULL,
	value {real},
	unit {text} NOT NULL,
	status {text} NOT NULL,
	PRIMARY KEY (measurement_id, n)
) {clustered};

CREATE TABLE fleet_speed (
	provider {text} NOT NULL,
	region {text} NOT NULL,
	instance_type {text} NOT NULL,
	accelerator {text} NOT NULL,
	speed {real} NOT NULL,
	n {i64} NOT NULL,
	last_t {i64} NOT NULL,
	PRIMARY KEY (provider, region, instance_type, accelerator)
) {clustered};

-- Where asking was in vain, and what asking brought.

CREATE TABLE block (
	id {id},
	provider {text} NOT NULL,
	account {text} NOT NULL,
	region {text} NOT NULL,
	zone {text} NOT NULL,
	instance_type {text} NOT NULL,
	purchase {text} NOT NULL,
	from_t {i64} NOT NULL,
	until_t {i64} NOT NULL,
	repeats {i64} NOT NULL,
	code {text} NOT NULL,
	reason {text} NOT NULL,
	run {i64},
	UNIQUE (provider, account, region, zone, instance_type, purchase)
) {strict};

CREATE TABLE launch (
	id {id},
	t {i64} NOT NULL,
	provider {text} NOT NULL,
	account {text} NOT NULL,
	region {text} NOT NULL,
	zone {text} NOT NULL,
	instance_type {text} NOT NULL,
	purchase {text} NOT NULL,
	won {i64} NOT NULL,
	run {i64}
) {strict};

CREATE TABLE capacity (
	provider {text} NOT NULL,
	account {text} NOT NULL,
	region {text} NOT NULL,
	zone {text} NOT NULL,
	instance_type {text} NOT NULL,
	purchase {text} NOT NULL,
	won {i64} NOT NULL,
	lost {i64} NOT NULL,
	won_recent {real} NOT NULL,
	lost_recent {real} NOT NULL,
	recent_t {i64} NOT NULL,
	last_won {i64},
	last_lost {i64},
	PRIMARY KEY (provider, account, region, zone, instance_type, purchase)
) {clustered};

-- Money.

CREATE TABLE budget (
	id {id},
	name {text} NOT NULL UNIQUE,
	scope {text} NOT NULL,
	period {text} NOT NULL,
	cap {i64} NOT NULL CHECK (cap >= 0),
	changed {i64} NOT NULL,
	run {i64}
) {strict};

CREATE TABLE reservation (
	id {id},
	intent_id {i64},
	account {text} NOT NULL,
	project {text} NOT NULL,
	user_name {text} NOT NULL,
	job_id {text} NOT NULL,
	amount {i64} NOT NULL CHECK (amount > 0),
	held {i64} NOT NULL CHECK (held >= 0),
	made {i64} NOT NULL,
	settled {i64},
	run {i64}
) {strict};
CREATE INDEX reservation_open ON reservation (intent_id) WHERE settled IS NULL;

CREATE TABLE ledger (
	id {id},
	t {i64} NOT NULL,
	kind {text} NOT NULL,
	account {text} NOT NULL,
	project {text} NOT NULL,
	user_name {text} NOT NULL,
	job_id {text} NOT NULL,
	instance_id {i64},
	amount {i64} NOT NULL,
	note {text} NOT NULL,
	run {i64}
) {strict};
CREATE INDEX ledger_time ON ledger (t);

-- What happened, and who is still to hear of it.

CREATE TABLE event (
	id {id},
	t {i64} NOT NULL,
	type {text} NOT NULL,
	subject {text} NOT NULL,
	data {text} NOT NULL,
	run {i64}
) {strict};
CREATE INDEX event_subject ON event (subject, id);

CREATE TABLE outbox (
	event_id {i64} NOT NULL REFERENCES event (id),
	sink {text} NOT NULL,
	tries {i64} NOT NULL,
	next_try {i64} NOT NULL,
	error {text} NOT NULL,
	delivered {i64},
	PRIMARY KEY (event_id, sink)
) {clustered};
CREATE INDEX outbox_due ON outbox (sink, next_try) WHERE delivered IS NULL;
