#include <string.h>

#include "model/probe.h"

static const char *const probe_status_names[PROBE_STATUS_COUNT] = {
	[PROBE_OK] = "ok",
	[PROBE_PARTIAL] = "partial",
	[PROBE_FAILED] = "failed",
	[PROBE_SKIPPED] = "skipped",
};

static const char *const check_status_names[CHECK_STATUS_COUNT] = {
	[CHECK_OK] = "ok",
	[CHECK_NOTE] = "note",
	[CHECK_FAILED] = "failed",
	[CHECK_UNKNOWN] = "unknown",
};

static const char *const probe_mode_names[PROBE_MODE_COUNT] = {
	[PROBE_MODE_GPU] = "gpu",
	[PROBE_MODE_HOST] = "host",
	[PROBE_MODE_OTHER] = "other",
	[PROBE_MODE_NETWORK] = "network",
};

static int
probe_name_index(const char *const *names, int n, const char *s)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], s) == 0)
			return i;
	return -1;
}

const char *
probe_status_name(enum probe_status s)
{
	return probe_status_names[s];
}

bool
probe_status_parse(const char *s, enum probe_status *s_out)
{
	int i = probe_name_index(probe_status_names, PROBE_STATUS_COUNT, s);

	if (i >= 0)
		*s_out = (enum probe_status)i;
	return i >= 0;
}

const char *
check_status_name(enum check_status s)
{
	return check_status_names[s];
}

bool
check_status_parse(const char *s, enum check_status *s_out)
{
	int i = probe_name_index(check_status_names, CHECK_STATUS_COUNT, s);

	if (i >= 0)
		*s_out = (enum check_status)i;
	return i >= 0;
}

const char *
probe_mode_name(enum probe_mode m)
{
	return probe_mode_names[m];
}

bool
probe_mode_parse(const char *s, enum probe_mode *m_out)
{
	int i = probe_name_index(probe_mode_names, PROBE_MODE_COUNT, s);

	if (i >= 0)
		*m_out = (enum probe_mode)i;
	return i >= 0;
}

const struct probe_test *
probe_test_find(const struct probe_result *r, const char *name, int gpu, int peer)
{
	for (size_t i = 0; i < r->n_tests; i++) {
		const struct probe_test *t = &r->tests[i];

		if (t->gpu == gpu && t->peer == peer && strcmp(t->name, name) == 0)
			return t;
	}
	return NULL;
}
