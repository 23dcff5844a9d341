/* The peers' methods: closed forms, and the published results of the M4 competition where its data is at hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forecast/forecast.h"
#include "tests/tap.h"

enum { M4_SERIES = 414, M4_MAX = 1000, M4_AHEAD = 48 };

static double train[M4_SERIES][M4_MAX], test[M4_SERIES][M4_MAX];

/* Wide layout: a quoted id, then quoted values, then empty cells. Returns the series; lengths in n. */
static size_t
m4_read(const char *dir, const char *file, double (*v)[M4_MAX], size_t *n)
{
	char cmd[1024];
	char *line = NULL;
	size_t cap = 0, rows = 0;
	FILE *f;

	(void)snprintf(cmd, sizeof(cmd), "zcat '%s/data/m4/%s' 2>/dev/null | tr -d '\"' | tail -n +2", dir, file);
	f = popen(cmd, "r");
	while (f != NULL && rows < M4_SERIES && getline(&line, &cap, f) > 0) {
		char *p = strchr(line, ',');

		n[rows] = 0;
		while (p != NULL && *p == ',' && n[rows] < M4_MAX) {
			char *end;
			double x = strtod(p + 1, &end);

			if (end == p + 1)
				break;
			v[rows][n[rows]++] = x;
			p = end;
		}
		rows++;
	}
	free(line);
	if (f != NULL)
		(void)pclose(f);
	return rows;
}

static void
m4_score(enum fc_peer p, const size_t *n, double *smape_out, double *mase_out)
{
	*smape_out = *mase_out = 0;
	for (size_t s = 0; s < M4_SERIES; s++) {
		double f[M4_AHEAD], scale = 0, e = 0, sm = 0;
		struct berth_err err = { 0 };

		if (fc_peer(p, train[s], n[s], 24, M4_AHEAD, f, &err) != BERTH_OK)
			return;
		for (size_t t = 24; t < n[s]; t++)
			scale += fabs(train[s][t] - train[s][t - 24]) / (double)(n[s] - 24);
		for (size_t i = 0; i < M4_AHEAD; i++) {
			e += fabs(f[i] - test[s][i]) / M4_AHEAD;
			sm += 200 * fabs(f[i] - test[s][i]) / (fabs(f[i]) + fabs(test[s][i])) / M4_AHEAD;
		}
		*smape_out += sm / M4_SERIES;
		*mase_out += e / scale / M4_SERIES;
	}
}

/* Published sMAPE and MASE of the hourly series ("Evaluation and Ranks" of the organisers). */
static void
published(const char *dir)
{
	static const struct { enum fc_peer p; double smape, mase, tol; } want[] = {
		{ FC_PEER_NAIVE, 43.003, 11.608, .005 }, { FC_PEER_SNAIVE, 13.912, 1.193, .001 },
		{ FC_PEER_NAIVE2, 18.383, 2.395, .001 }, { FC_PEER_SES, 18.094, 2.385, .005 },
		{ FC_PEER_THETA, 18.138, 2.455, .005 },
	};
	size_t n[M4_SERIES], ahead[M4_SERIES];

	if (m4_read(dir, "Hourly-train.csv.gz", train, n) != M4_SERIES ||
	    m4_read(dir, "Hourly-test.csv.gz", test, ahead) != M4_SERIES) {
		tap_skip("published results on M4 Hourly", "the M4 data is not there (set BERTH_SHARED)");
		return;
	}
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		double smape, mase;

		m4_score(want[i].p, n, &smape, &mase);
		tap_near(smape, want[i].smape, want[i].tol, "%s: sMAPE of M4 Hourly", fc_peer_name(want[i].p));
		tap_near(mase, want[i].mase, want[i].tol, "%s: MASE of M4 Hourly", fc_peer_name(want[i].p));
	}
}

int
main(void)
{
	const char *dir = getenv("BERTH_SHARED"), *top = getenv("TOP_SRCDIR");
	double y[96], f[48];
	struct berth_err err = { 0 };
	char path[900];

	for (int i = 0; i < 96; i++)
		y[i] = 10 + i % 24;
	tap_code(fc_peer(FC_PEER_NAIVE, y, 96, 24, 48, f, &err), BERTH_OK, &err);
	tap_near(f[47], y[95], 0, "the last value stays");
	tap_code(fc_peer(FC_PEER_SNAIVE, y, 96, 24, 48, f, &err), BERTH_OK, &err);
	tap_near(f[30], y[6], 0, "yesterday comes again");
	for (int p = FC_PEER_NAIVE2; p < FC_PEER_COUNT; p++) {
		double worst = 0;

		tap_code(fc_peer((enum fc_peer)p, y, 96, 24, 48, f, &err), BERTH_OK, &err);
		for (int i = 0; i < 48; i++)
			worst = fmax(worst, fabs(f[i] - y[i % 24]));
		tap_near(worst, 0, 0.05, "%s: a pure season is taken out and put back", fc_peer_name((enum fc_peer)p));
	}
	tap_code(fc_peer(FC_PEER_SES, y, 1, 24, 48, f, &err), BERTH_EINVAL, &err);
	if (dir == NULL) {
		(void)snprintf(path, sizeof(path), "%s/../shared", top != NULL ? top : ".");
		dir = path;
	}
	published(dir);
	return tap_done();
}
