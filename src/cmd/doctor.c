#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/ctx.h"
#include "cmd/doctor.h"
#include "cmd/progpath.h"
#include "model/accel.h"
#include "model/datapath.h"
#include "store/offer_rows.h"
#include "store/store.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/fileio.h"
#include "util/jsonw.h"
#include "util/str.h"
#include "util/term.h"
#include "util/time.h"
#include "util/vec.h"

enum {
	DOCTOR_PRICES_OLD_S =
	    7 * 86400, /* spot prices move by the hour, list prices by the month */
	DOCTOR_CLOCK_SLACK_S = 300,
	DOCTOR_INDENT = 6, /* of what is said, behind its state */
	DOCTOR_LINE_MAX = 1024 * 1024,
};
#define DOCTOR_BUILT                                                                               \
	INT64_C(1764547200) /* 2025-12-01: no machine that runs this berth has an earlier date */
#define DOCTOR_FREE_LOW ((int64_t)1024 * 1024 * 1024)
#define DOCTOR_FREE_NONE ((int64_t)64 * 1024 * 1024)

static enum berth_code doctor_run(struct cmd_ctx *ctx, struct berth_err *err);

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "check the installation without spending anything",
	.args = "",
	.flags = CMD_NET,
	.run = doctor_run,
};

static const char *
doctor_state_name(enum doctor_state s)
{
	switch (s) {
	case DOCTOR_OK:
		return "ok";
	case DOCTOR_WARN:
		return "warn";
	case DOCTOR_FAIL:
		return "fail";
	}
	return "fail";
}

void
doctor_add(struct doctor *d, enum doctor_state state, const char *name, const char *next,
    const char *message)
{
	VEC_PUSH(d->ctx->arena, &d->rows, (struct doctor_row){ state, name, message, next });
	d->warned += state == DOCTOR_WARN;
	d->failed += state == DOCTOR_FAIL;
}

void
doctor_add_err(struct doctor *d, enum doctor_state state, const char *name, const char *next,
    const struct berth_err *err)
{
	if (err->where[0] != '\0')
		DOCTOR_SAY(d, state, name, next, "%s: %s", err->where, err->msg);
	else
		DOCTOR_SAY(d, state, name, next, "%s", err->msg);
}

static void
doctor_fault(void *arg, const char *what)
{
	struct doctor *d = arg;

	DOCTOR_SAY(
	    d, DOCTOR_FAIL, "store", "berth store rebuild, or go back to a backup", "%s", what);
}

static void
doctor_store_check(struct doctor *d)
{
	struct berth_err err = { 0 };
	struct stat st;
	size_t faults = 0;

	if (stat(d->store_path, &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		DOCTOR_SAY(d, DOCTOR_WARN, "store",
		    arena_printf(d->ctx->arena, "chmod 600 '%s'", d->store_path),
		    "%s can be read by others", d->store_path);
	if (store_warning(d->store)[0] != '\0')
		DOCTOR_SAY(d, DOCTOR_WARN, "store", "", "%s", store_warning(d->store));
	if (store_check(d->store, doctor_fault, d, &faults, &err) != BERTH_OK)
		doctor_add_err(d, DOCTOR_FAIL, "store", "go back to a backup", &err);
	else if (faults == 0)
		DOCTOR_SAY(d, DOCTOR_OK, "store", "", "%s, %s, version %d", d->store_path,
		    store_engine(d->store), store_version(d->store));
}

static void
doctor_store(struct doctor *d)
{
	struct berth_err err = { 0 };
	enum berth_code rc;

	if (d->config == NULL && d->ctx->global->store == NULL && getenv("BERTH_STORE") == NULL) {
		DOCTOR_SAY(
		    d, DOCTOR_WARN, "store", "", "not looked at: the config may say where it is");
		return;
	}
	if (ctx_store_path(d->ctx, &d->store_path, &err) != BERTH_OK) {
		d->store_path = "";
		doctor_add_err(d, DOCTOR_FAIL, "store", "set HOME, or give --store PATH", &err);
		return;
	}
	rc = store_open(d->store_path, STORE_READ, d->ctx->now, &d->store, &err);
	if (rc == BERTH_ENOTFOUND) {
		DOCTOR_SAY(d, DOCTOR_WARN, "store", "berth init", "no store at %s", d->store_path);
	} else if (rc != BERTH_OK) {
		d->store = NULL;
		doctor_add_err(d, DOCTOR_FAIL, "store", "berth help store", &err);
	} else {
		doctor_store_check(d);
	}
}

static void
doctor_data(struct doctor *d)
{
	struct berth_err err = { 0 };
	const char *path;

	if (cmd_accels(d->ctx, &d->accels, &err) != BERTH_OK)
		doctor_add_err(d, DOCTOR_FAIL, "accelerators",
		    "install berth's data, or set BERTH_DATA to its folder", &err);
	else
		DOCTOR_SAY(d, DOCTOR_OK, "accelerators", "", "%zu known", accel_count(d->accels));
	if (data_path(d->ctx->arena, "offers.csv", &path, &err) != BERTH_OK)
		doctor_add_err(d, DOCTOR_FAIL, "offers",
		    "install berth's data, or set BERTH_DATA to its folder", &err);
	else
		DOCTOR_SAY(d, DOCTOR_OK, "offers", "", "bundled price list at %s", path);
}

/* When the newest price of a list was true; a list that was loaded today may be of last year. */
static int64_t
doctor_list_as_of(const struct price_list *l, const struct offer *offers, size_t n)
{
	int64_t newest = 0;

	for (size_t i = 0; i < n; i++)
		if (str_eq(offers[i].provider, l->provider) &&
		    str_eq(offers[i].account, l->account) && offers[i].as_of > newest)
			newest = offers[i].as_of;
	return newest != 0 ? newest : l->fetched;
}

static void
doctor_price_lists(struct doctor *d, const struct price_list *lists, size_t n,
    const struct offer *offers, size_t n_offers)
{
	const struct price_list *oldest = NULL;
	int64_t age, most = -1;
	size_t old = 0, stale = 0;

	for (size_t i = 0; i < n; i++) {
		if (lists[i].stale) {
			DOCTOR_SAY(d, DOCTOR_WARN, "prices", "berth prices refresh",
			    "%s: the last refresh failed (%s)", lists[i].provider, lists[i].reason);
			stale++;
			continue;
		}
		if (lists[i].offers == 0)
			continue;
		age = d->ctx->now - doctor_list_as_of(&lists[i], offers, n_offers);
		old += age > DOCTOR_PRICES_OLD_S;
		if (age > most)
			oldest = &lists[i];
		most = age > most ? age : most;
	}
	if (oldest != NULL && old > 0)
		DOCTOR_SAY(d, DOCTOR_WARN, "prices",
		    "berth prices refresh, or berth prices import FILE",
		    "of %zu lists with %zu offers %zu are older than 7 days, %s the most: %lld "
		    "days",
		    n, n_offers, old, oldest->provider, (long long)(most / 86400));
	else if (oldest != NULL)
		DOCTOR_SAY(d, DOCTOR_OK, "prices", "",
		    "%zu lists, %zu offers, the oldest list from %lld hours ago", n - stale,
		    n_offers, (long long)((most > 0 ? most : 0) / 3600));
}

static void
doctor_prices(struct doctor *d)
{
	static const struct offer_query all_kinds = { .every_kind = true };
	struct berth_err err = { 0 };
	struct price_list *lists;
	struct offer *offers;
	size_t n, n_offers;

	if (d->store == NULL)
		return;
	if (store_price_list_list(d->store, d->ctx->arena, &lists, &n, &err) != BERTH_OK ||
	    store_offer_list(d->store, &all_kinds, d->ctx->arena, &offers, &n_offers, &err) !=
		BERTH_OK)
		doctor_add_err(d, DOCTOR_FAIL, "prices", "berth store check", &err);
	else if (n == 0)
		DOCTOR_SAY(d, DOCTOR_WARN, "prices",
		    "berth prices import FILE, or berth prices refresh", "no offers yet");
	else
		doctor_price_lists(d, lists, n, offers, n_offers);
}

static void
doctor_clock(struct doctor *d)
{
	char now[TIME_FMT_SIZE], then[TIME_FMT_SIZE];
	struct berth_err err = { 0 };
	struct run *runs = NULL;
	size_t n = 0;

	time_fmt(now, d->ctx->now);
	if (d->store != NULL &&
	    store_run_list(d->store, 1, d->ctx->arena, &runs, &n, &err) != BERTH_OK)
		n = 0;
	if (d->ctx->now < DOCTOR_BUILT)
		DOCTOR_SAY(
		    d, DOCTOR_FAIL, "clock", "set the machine's clock", "it cannot be %s", now);
	else if (n == 1 && runs[0].started > d->ctx->now + DOCTOR_CLOCK_SLACK_S)
		DOCTOR_SAY(d, DOCTOR_FAIL, "clock", "set the machine's clock",
		    "it is %s, but the store was written at %s", now,
		    time_fmt(then, runs[0].started));
	else
		DOCTOR_SAY(d, DOCTOR_OK, "clock", "", "%s", now);
}

static const char *
doctor_self(struct arena *a)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n > 0 ? arena_strndup(a, path, (size_t)n) : "berth";
}

static void
doctor_probe(struct doctor *d)
{
	const char *path = progpath_probe(d->ctx->arena);

	if (path[0] != '\0' && access(path, X_OK) == 0)
		DOCTOR_SAY(d, DOCTOR_OK, "probe", "", "%s", path);
	else
		DOCTOR_SAY(d, DOCTOR_WARN, "probe", "install berth-probe, or set BERTH_PROBE to it",
		    "no berth-probe%s%s: machines reached by ssh cannot be measured",
		    path[0] != '\0' ? " at " : "", path);
}

static void
doctor_disk(struct doctor *d)
{
	const char *folder = progpath_dir(d->ctx->arena, d->store_path);
	struct statvfs fs;
	int64_t left;

	if (folder[0] == '\0' || statvfs(folder, &fs) != 0)
		return;
	left = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	DOCTOR_SAY(d,
	    left < DOCTOR_FREE_NONE  ? DOCTOR_FAIL
	    : left < DOCTOR_FREE_LOW ? DOCTOR_WARN
				     : DOCTOR_OK,
	    "disk", left < DOCTOR_FREE_LOW ? "make room, or move the store: --store PATH" : "",
	    "%.1f GiB free in %s", (double)left / 1024 / 1024 / 1024, folder);
}

/* A word for sh inside a crontab: quoted, and each % escaped, since cron makes a line end of it. */
static const char *
doctor_cron_word(struct arena *a, const char *word)
{
	char *out = arena_array(a, strlen(word) * 4 + 3, 1), *p = out;

	if (word[strspn(word,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")] == '\0')
		return word;
	*p++ = '\'';
	for (; *word != '\0'; word++) {
		if (*word == '\'') {
			memcpy(p, "'\\''", 4);
			p += 4;
		} else if (*word == '%') {
			memcpy(p, "'\\%'", 4); /* cron takes the backslash away; where it does not,
						  the shell outside quotes does */
			p += 4;
		} else {
			*p++ = *word;
		}
	}
	*p = '\'';
	return out;
}

/* cron gives a program no HOME that can be relied on and hardly a PATH: the line says everything.
 */
static void
doctor_cron(struct doctor *d)
{
	struct arena *a = d->ctx->arena;
	const char *config = d->config != NULL ? d->config->path : "";
	char *store = arena_strdup(a, d->store_path);
	const char *line = arena_printf(a, "* * * * * %s -q%s%s --store %s tick",
	    doctor_cron_word(a, doctor_self(a)), config[0] != '\0' ? " --config " : "",
	    doctor_cron_word(a, config), doctor_cron_word(a, d->store_path));

	if (str_hide_password(store))
		DOCTOR_SAY(d, DOCTOR_WARN, "cron",
		    "set BERTH_STORE for cron, and keep the password in ~/.pgpass",
		    "the store's URL holds a password, which all users of this machine would see: "
		    "%s",
		    store);
	else if (d->store_path[0] != '\0')
		DOCTOR_SAY(d, DOCTOR_OK, "cron", "", "%s", line);
}

static enum berth_code
doctor_json(struct doctor *d, struct berth_err *err)
{
	struct jsonw *w = cmd_json_begin(d->ctx, "berth.doctor/1");

	jsonw_begin_array(w, "checks");
	for (size_t i = 0; i < d->rows.n; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_str(w, "name", d->rows.v[i].name);
		jsonw_str(w, "state", doctor_state_name(d->rows.v[i].state));
		jsonw_str(w, "message", d->rows.v[i].message);
		jsonw_str_or_null(w, "next", d->rows.v[i].next);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_int(w, "warned", d->warned);
	jsonw_int(w, "failed", d->failed);
	return cmd_json_end(d->ctx, err);
}

static enum berth_code
doctor_csv(struct doctor *d, struct berth_err *err)
{
	static const struct table_col cols[] = {
		{ .name = "state", .type = TABLE_TEXT },
		{ .name = "name", .type = TABLE_TEXT },
		{ .name = "message", .type = TABLE_TEXT, .flags = TABLE_CUT },
		{ .name = "next", .type = TABLE_TEXT },
	};
	struct table *t = table_new(d->ctx->arena, cols, sizeof(cols) / sizeof(cols[0]));

	for (size_t i = 0; i < d->rows.n; i++) {
		table_row(t);
		table_text(t, doctor_state_name(d->rows.v[i].state));
		table_text(t, d->rows.v[i].name);
		table_text(t, d->rows.v[i].message);
		table_text(t, d->rows.v[i].next);
	}
	return cmd_table_print(d->ctx, t, err);
}

/* Words of a cloud, on one line. */
static const char *
doctor_tame(struct arena *a, const char *s)
{
	char *copy = arena_strdup(a, s);

	for (char *p = copy; *p != '\0'; p++)
		for (size_t n = str_control_len(p); n > 0; n--)
			p[n - 1] = '?';
	return copy;
}

/* A line of which the first six columns are taken, broken at the given width, 0: whole; also with
 * --quiet. */
static void
doctor_line(struct doctor *d, int columns, const char *s)
{
	const char *text = doctor_tame(d->ctx->arena, s);
	size_t blank = strspn(text, " ");
	struct buf b;

	buf_init(&b, DOCTOR_LINE_MAX);
	buf_add(&b, text, blank);
	term_wrap(text + blank, strlen(text + blank), DOCTOR_INDENT,
	    blank > 0 ? (int)blank + 2 : DOCTOR_INDENT, columns > 0 ? columns : INT_MAX, &b);
	fprintf(d->ctx->out, "%s\n", b.len > 0 ? b.p : "");
	buf_free(&b);
}

/* Messages are too long for a table; the next step stands under what it is about. */
static void
doctor_text(struct doctor *d)
{
	static const char *const colors[] = { "\033[32m", "\033[33m", "\033[31m" };
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct doctor_row *r = &d->rows.v[i];

		if (d->ctx->quiet && r->state == DOCTOR_OK)
			continue;
		fprintf(d->ctx->out, "%s%-4s%s  ", d->ctx->color ? colors[r->state] : "",
		    doctor_state_name(r->state), d->ctx->color ? "\033[0m" : "");
		/* the line of a crontab is there to be copied */
		doctor_line(d, strcmp(r->name, "cron") == 0 ? 0 : d->ctx->columns,
		    arena_printf(d->ctx->arena, "%s: %s", r->name, r->message));
		if (r->next[0] != '\0')
			doctor_line(d, d->ctx->columns,
			    arena_printf(d->ctx->arena, "      next: %s", r->next));
	}
}

static enum berth_code
doctor_run(struct cmd_ctx *ctx, struct berth_err *err)
{
	struct doctor d = { .ctx = ctx, .store_path = "" };
	enum berth_code rc = BERTH_OK;

	doctor_config(&d);
	doctor_store(&d);
	doctor_data(&d);
	doctor_prices(&d);
	doctor_clock(&d);
	doctor_accounts(&d);
	doctor_probe(&d);
	doctor_disk(&d);
	doctor_cron(&d);
	store_close(d.store);
	if (cmd_wants_json(ctx))
		rc = doctor_json(&d, err);
	else if (ctx->format == CMD_CSV || ctx->format == CMD_WIDE)
		rc = doctor_csv(&d, err);
	else
		doctor_text(&d);
	if (rc == BERTH_OK && d.failed > 0)
		rc = err_set(err, BERTH_EFAIL, "%d of %zu checks failed", d.failed, d.rows.n);
	return rc;
}
