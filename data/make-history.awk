# Makes data/history/gpu-usage.csv: 26 weeks of a made-up company's GPU usage, one row an hour and series.
#
# usage: awk -f make-history.awk [-v seed=N] >history/gpu-usage.csv      (for maintainers)
#
# Only whole numbers and tables go into it (no rand(), no sin()), so every awk writes the same bytes from one seed.

# Minimal standard generator (Park & Miller, 1988): products stay below 2^53.
function below(n) {
	state = (state * 16807) % 2147483647
	return state % n
}

# How many of n tries with a chance of 1/1000 each p succeed: arrivals within an hour.
function arrivals(p, n,   i, k) {
	k = 0
	for (i = 0; i < n; i++)
		k += below(1000) < p
	return k
}

# Hours that a job runs: most are short, one in eight is long.
function hours(short, long) {
	return 1 + (below(8) == 0 ? below(long) : below(short))
}

# A job that holds gpus from hour h on, queued until they fit under the quota of its series.
function run(s, h, n, gpus, quota,   i, at) {
	for (at = h; at < HOURS && use[s, at] + gpus > quota; at++)
		;
	for (i = at; i < at + n && i < HOURS; i++)
		use[s, i] += gpus
	if (at < HOURS)
		started[s, at] += gpus
}

function workday(h) { return int(h / 24) % 7 < 5 }

# Training: one big run at a time, each a little larger than the last, restarted now and then; small trials beside it.
function pretrain(s,   h, gpus, n, i, down) {
	gpus = 64
	for (h = 10; h < HOURS; h += n + 6 + below(40)) {
		n = 24 * (9 + below(13))
		for (i = h; i < h + n && i < HOURS; i++) {
			if (down > 0)
				down--
			else if (below(240) == 0)
				down = 1 + below(4)
			else
				use[s, i] += gpus
		}
		if (gpus < 128)
			gpus += 8
	}
	for (h = 0; h < HOURS; h++)
		for (i = arrivals(workday(h) && h % 24 >= 8 && h % 24 < 19 ? 60 : 12, 3); i > 0; i--)
			run(s, h, hours(10, 60), 8 * (1 + below(2)), 176)
}

# Research: many small jobs in working hours; a second group joins after week 14; quota 96, then 144.
function research(s,   h, i, p, quota, size) {
	for (h = 0; h < HOURS; h++) {
		quota = h < 14 * 168 ? 96 : 144
		p = workday(h) && h % 24 >= 8 && h % 24 < 20 ? 140 : 35
		if (h >= 14 * 168)
			p = int(p * 8 / 5)
		for (i = arrivals(p, 8); i > 0; i--) {
			size = below(10)
			run(s, h, hours(16, 90), size < 4 ? 1 : size < 6 ? 2 : size < 8 ? 4 : 8, quota)
		}
	}
}

# Fine-tuning: idle most of the time, 8 or 16 GPUs at night after a customer's data came in, more at a month's end.
function finetune(s,   h, day, dom) {
	for (day = 0; day < HOURS / 24; day++) {
		dom = monthday[day]
		if (workday(24 * day) && below(100) < (dom >= 26 ? 90 : 65))
			run(s, 24 * day + 18 + below(4), 4 + below(9), dom >= 26 && below(2) ? 16 : 8, 48)
		h = 24 * day + 9 + below(8)
		if (workday(24 * day) && below(100) < 45)
			run(s, h, 2 + below(5), 8, 48)
	}
}

# Serving: base GPUs, the shape of the day in percent, weekends lower, growth a week in permille, noise of +-noise permille.
function serve(s, base, weekend, growth, noise,   h, v, week, level) {
	level = base * 1000
	for (h = 0; h < HOURS; h++) {
		if (h % 168 == 0 && h > 0)
			level = int(level * (1000 + growth) / 1000)
		v = level * shape[h % 24] / 100
		if (!workday(h))
			v = v * weekend / 100
		v = v * (1000 - noise + below(2 * noise + 1)) / 1000
		use[s, h] = int((v + 500) / 1000)
		if (use[s, h] < 2)
			use[s, h] = 2	# never fewer than one replica and its spare
	}
}

# Night rendering: 22 to 5 o'clock, short Saturdays; twice as much in the last week of November.
function render(s,   h, hour, gpus) {
	for (h = 0; h < HOURS; h++) {
		hour = h % 24
		gpus = hour >= 22 || hour < 5 ? 12 + 4 * below(3) : 2 * below(2)
		if (!workday(h))
			gpus = hour >= 22 || hour < 2 ? 8 : 0
		if (h >= HOURS - 168)
			gpus *= 2
		use[s, h] = gpus
	}
}

# Within an hour more GPUs are held than on average where jobs hand over or replicas roll.
function peak(s, h,   p) {
	p = use[s, h]
	if (kind[s] == "serve")
		return p + int(p * below(13) / 100) + (below(4) == 0)
	if (started[s, h] > 0 && below(3) == 0)
		p += started[s, h] > 8 ? 8 : started[s, h]
	return p
}

function calendar(   m, d, day, len) {
	split("30 31 31 30 31 30", len, " ")	# June to November
	day = 0
	for (m = 1; m <= 6; m++)
		for (d = 1; d <= len[m] && day < HOURS / 24; d++) {
			date[day] = sprintf("2026-%02d-%02d", m + 5, d)
			monthday[day++] = d
		}
}

BEGIN {
	HOURS = 26 * 168	# Monday 2026-06-01T00:00Z to Sunday 2026-11-29T23:00Z
	state = (seed == "" ? 20261130 : seed) % 2147483646 + 1
	split("62 55 50 48 50 56 66 78 90 100 106 110 112 110 108 108 110 114 120 124 122 110 92 74", t, " ")
	for (i = 1; i <= 24; i++)
		shape[i - 1] = t[i]
	calendar()
	N = split("pretrain assistant research finetune vision render", name, " ")
	split("H100 H100 A100-80GB A100-80GB L4 L40S", card, " ")
	split("foundation assistant research applied vision media", team, " ")
	kind[2] = kind[5] = "serve"
	pretrain(1)
	serve(2, 14, 82, 22, 60)
	research(3)
	finetune(4)
	serve(5, 34, 64, 11, 45)
	render(6)
	for (h = 9 * 168 + 2 * 24 + 13; h < 9 * 168 + 3 * 24 + 3; h++)	# power failure of the research cluster
		use[3, h] = started[3, h] = 0
	print "timestamp,gpus,peak,series,accelerator,team"
	for (h = 0; h < HOURS; h++)
		for (s = 1; s <= N; s++) {
			p = peak(s, h)
			if (s == 3 && h >= 19 * 168 + 100 && h < 19 * 168 + 109)	# its monitoring was down: no rows
				continue
			printf "%sT%02d:00:00Z,%d,%d,%s,%s,%s\n", date[int(h / 24)], h % 24, use[s, h], p, name[s], card[s], team[s]
		}
}
