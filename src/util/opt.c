#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/duration.h"
#include "util/opt.h"
#include "util/str.h"
#include "util/term.h"
#include "util/time.h"
#include "util/vec.h"

enum { OPT_HELP_INDENT = 28 };

/* An option on the command line: its row, where its value goes, and the value. */
struct opt_seen {
	const struct opt_row *row;
	void *base;
	const char *value; /* NULL: a flag */
	bool negated;
};

struct opt_run {
	const struct opt_set *sets;
	size_t n_sets;
	const struct opt_env *env;
	VEC(struct opt_seen) seen;
	VEC(const char *) words;
};

const struct opt_row *
opt_find(const struct opt_row *rows, const char *name)
{
	for (; rows != NULL && rows->name != NULL; rows++)
		if (strcmp(rows->name, name) == 0 ||
		    (rows->alias != NULL && strcmp(rows->alias, name) == 0))
			return rows;
	return NULL;
}

const struct opt_row *
opt_find_short(const struct opt_row *rows, char short_name)
{
	for (; rows != NULL && rows->name != NULL; rows++)
		if (rows->short_name == short_name)
			return rows;
	return NULL;
}

/* The row of a long name in any set, later sets (the verb's) first. */
static const struct opt_row *
opt_lookup(const struct opt_run *run, const char *name, void **base_out)
{
	for (size_t i = run->n_sets; i-- > 0;) {
		const struct opt_row *row = opt_find(run->sets[i].rows, name);

		*base_out = run->sets[i].base;
		if (row != NULL)
			return row;
	}
	return NULL;
}

static const struct opt_row *
opt_lookup_short(const struct opt_run *run, char c, void **base_out)
{
	for (size_t i = run->n_sets; i-- > 0;) {
		const struct opt_row *row = opt_find_short(run->sets[i].rows, c);

		*base_out = run->sets[i].base;
		if (row != NULL)
			return row;
	}
	return NULL;
}

static enum berth_code
opt_unknown(const struct opt_run *run, const char *name, struct berth_err *err)
{
	VEC(const char *) names = { 0 };
	const char *near;

	for (size_t i = 0; i < run->n_sets; i++)
		for (const struct opt_row *r = run->sets[i].rows; r != NULL && r->name != NULL; r++)
			if (r->help != NULL)
				VEC_PUSH(run->env->arena, &names, r->name);
	VEC_PUSH(run->env->arena, &names, NULL);
	near = str_suggest(name, names.v);
	if (near != NULL)
		return err_set(
		    err, BERTH_EUSAGE, "unknown option '--%s' (did you mean '--%s'?)", name, near);
	return err_set(err, BERTH_EUSAGE, "unknown option '--%s'", name);
}

static enum berth_code
opt_at(const struct opt_row *row, const char *value, struct berth_err *err)
{
	err_ctx(err, "--%s '%s'", row->name, value);
	err->code = BERTH_EUSAGE;
	return err->code;
}

static enum berth_code
opt_range(const struct opt_row *row, double v, const char *value, struct berth_err *err)
{
	char lo[STR_DOUBLE_SIZE], hi[STR_DOUBLE_SIZE];

	if ((row->min == 0 && row->max == 0) || (v >= row->min && v <= row->max))
		return BERTH_OK;
	if (row->max >= DBL_MAX)
		return err_set(err, BERTH_EUSAGE, "--%s '%s': must be at least %s", row->name,
		    value, str_from_double(lo, row->min));
	return err_set(err, BERTH_EUSAGE, "--%s '%s': must be between %s and %s", row->name, value,
	    str_from_double(lo, row->min), str_from_double(hi, row->max));
}

/* Durations out of range are told in their own notation. */
static enum berth_code
opt_range_duration(const struct opt_row *row, int64_t v, const char *value, struct berth_err *err)
{
	char lo[DURATION_FMT_SIZE], hi[DURATION_FMT_SIZE];

	if ((row->min == 0 && row->max == 0) || ((double)v >= row->min && (double)v <= row->max))
		return BERTH_OK;
	if (row->max >= (double)INT64_MAX)
		return err_set(err, BERTH_EUSAGE, "--%s '%s': must be at least %s", row->name,
		    value, duration_fmt(lo, (int64_t)row->min));
	return err_set(err, BERTH_EUSAGE, "--%s '%s': must be between %s and %s", row->name, value,
	    duration_fmt(lo, (int64_t)row->min), duration_fmt(hi, (int64_t)row->max));
}

static enum berth_code
opt_choice(const struct opt_env *env, const struct opt_row *row, const char *value,
    const char **out, struct berth_err *err)
{
	size_t n;
	char **words = str_split(env->arena, row->arg, '|', &n);
	const char *near;

	for (size_t i = 0; i < n; i++) {
		if (str_eq(words[i], value)) {
			*out = words[i];
			return BERTH_OK;
		}
	}
	near = str_suggest(value, (const char *const *)words);
	if (near != NULL)
		return err_set(err, BERTH_EUSAGE,
		    "--%s '%s': must be one of %s (did you mean '%s'?)", row->name, value, row->arg,
		    near);
	return err_set(
	    err, BERTH_EUSAGE, "--%s '%s': must be one of %s", row->name, value, row->arg);
}

static bool
opt_first(const struct opt_run *run, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (run->seen.v[i].row == run->seen.v[at].row)
			return false;
	return true;
}

/* Appends the comma-separated words of value; the first use of the option in a run replaces the
 * default. No word at all is most often a variable of a script that was never set. */
static enum berth_code
opt_list_add(const struct opt_run *run, size_t at, struct opt_list *list, struct berth_err *err)
{
	const struct opt_env *env = run->env;
	const char *value = run->seen.v[at].value, *name = run->seen.v[at].row->name;
	bool first = opt_first(run, at);
	size_t n, old = first ? 0 : list->n;
	char **words = str_split(env->arena, value, ',', &n);
	const char **all = arena_array_of(env->arena, old + n + 1, const char *);

	for (size_t i = 0; i < old; i++)
		all[i] = list->v[i];
	for (size_t i = 0; i < n; i++)
		if (words[i][0] != '\0')
			all[old++] = words[i];
	if (old == (first ? 0 : list->n))
		return err_set(err, BERTH_EUSAGE, "--%s '%s': names nothing", name, value);
	list->v = all;
	list->n = old;
	return BERTH_OK;
}

static enum berth_code
opt_int(const struct opt_row *row, const char *value, int64_t *out, struct berth_err *err)
{
	if (str_to_i64(value, INT64_MIN, INT64_MAX, out, err) != BERTH_OK)
		return opt_at(row, value, err);
	return opt_range(row, (double)*out, value, err);
}

static enum berth_code
opt_double(const struct opt_row *row, const char *value, double *out, struct berth_err *err)
{
	if (str_to_double(value, -DBL_MAX, DBL_MAX, out, err) != BERTH_OK)
		return opt_at(row, value, err);
	return opt_range(row, *out, value, err);
}

static enum berth_code
opt_duration(const struct opt_row *row, const char *value, int64_t *out, struct berth_err *err)
{
	if (duration_parse(value, out, err) != BERTH_OK)
		return opt_at(row, value, err);
	return opt_range_duration(row, *out, value, err);
}

static enum berth_code
opt_time(const struct opt_env *env, const struct opt_row *row, const char *value, int64_t *out,
    struct berth_err *err)
{
	if (time_parse(value, *env->now, env->tz, TIME_EPOCH, out, err) != BERTH_OK)
		return opt_at(row, value, err);
	return BERTH_OK;
}

static enum berth_code
opt_size(const struct opt_row *row, const char *value, int64_t *out, struct berth_err *err)
{
	if (str_to_size(value, out, err) != BERTH_OK)
		return opt_at(row, value, err);
	return opt_range(row, (double)*out, value, err);
}

static enum berth_code
opt_money(
    const struct opt_row *row, const char *value, struct usd_micro *out, struct berth_err *err)
{
	if (usd_parse(value, out, err) != BERTH_OK)
		return opt_at(row, value, err);
	return opt_range(row, usd_to_double(*out), value, err);
}

static enum berth_code
opt_store(const struct opt_run *run, size_t at, struct berth_err *err)
{
	const struct opt_seen *s = &run->seen.v[at];
	void *field = (char *)s->base + s->row->offset;

	switch (s->row->type) {
	case OPT_FLAG:
		*(bool *)field = !s->negated;
		return BERTH_OK;
	case OPT_PATH:
		if (s->value[0] == '\0')
			return err_set(err, BERTH_EUSAGE,
			    "the name of the %s is empty: give --%s %s", s->row->name, s->row->name,
			    s->row->arg);
		*(const char **)field = s->value;
		return BERTH_OK;
	case OPT_STRING:
		*(const char **)field = s->value;
		return BERTH_OK;
	case OPT_CHOICE:
		return opt_choice(run->env, s->row, s->value, field, err);
	case OPT_INT:
		return opt_int(s->row, s->value, field, err);
	case OPT_DOUBLE:
		return opt_double(s->row, s->value, field, err);
	case OPT_DURATION:
		return opt_duration(s->row, s->value, field, err);
	case OPT_TIME:
		return opt_time(run->env, s->row, s->value, field, err);
	case OPT_SIZE:
		return opt_size(s->row, s->value, field, err);
	case OPT_MONEY:
		return opt_money(s->row, s->value, field, err);
	case OPT_LIST:
		return opt_list_add(run, at, field, err);
	case OPT_TYPE_COUNT:
		break;
	}
	return err_set(err, BERTH_EFAIL, "--%s: no such type", s->row->name);
}

/* --now of the first set has to be known before "+1h" of any other. */
static enum berth_code
opt_store_all(const struct opt_run *run, struct berth_err *err)
{
	enum berth_code rc = BERTH_OK;

	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < run->seen.n && rc == BERTH_OK; i++) {
			bool is_time = run->seen.v[i].row->type == OPT_TIME;
			bool first_set = run->seen.v[i].base == run->sets[0].base;
			int mine = !is_time ? 0 : first_set ? 1 : 2;

			if (mine == pass)
				rc = opt_store(run, i, err);
		}
	}
	return rc;
}

/* argv[*i] starts with "--" and is longer; takes its value from argv[*i + 1] if need be. */
static enum berth_code
opt_long(struct opt_run *run, int argc, char *const *argv, int *i, struct berth_err *err)
{
	const char *text = argv[*i] + 2, *eq = strchr(text, '=');
	const char *name =
	    eq == NULL ? text : arena_strndup(run->env->arena, text, (size_t)(eq - text));
	struct opt_seen s = { .value = eq == NULL ? NULL : eq + 1 };

	s.row = opt_lookup(run, name, &s.base);
	if (s.row == NULL && str_starts(name, "no-")) {
		s.row = opt_lookup(run, name + 3, &s.base);
		s.negated = true;
		if (s.row != NULL && s.row->type != OPT_FLAG)
			s.row = NULL;
	}
	if (s.row == NULL)
		return opt_unknown(run, name, err);
	if (s.row->type == OPT_FLAG && s.value != NULL)
		return err_set(err, BERTH_EUSAGE, "--%s takes no value", name);
	if (s.row->type != OPT_FLAG && s.value == NULL) {
		if (*i + 1 >= argc || str_starts(argv[*i + 1], "--"))
			return err_set(err, BERTH_EUSAGE, "--%s needs a value: --%s %s", name, name,
			    s.row->arg);
		s.value = argv[++*i];
	}
	VEC_PUSH(run->env->arena, &run->seen, s);
	return BERTH_OK;
}

static enum berth_code
opt_short(struct opt_run *run, int argc, char *const *argv, int *i, struct berth_err *err)
{
	for (const char *c = argv[*i] + 1; *c != '\0'; c++) {
		struct opt_seen s = { 0 };

		s.row = opt_lookup_short(run, *c, &s.base);
		if (s.row == NULL)
			return err_set(err, BERTH_EUSAGE, "unknown option '-%c'", *c);
		if (s.row->type != OPT_FLAG) {
			if (c[1] != '\0')
				s.value = c + 1;
			else if (*i + 1 < argc && !str_starts(argv[*i + 1], "--"))
				s.value = argv[++*i];
			else
				return err_set(err, BERTH_EUSAGE, "-%c needs a value: -%c %s", *c,
				    *c, s.row->arg);
			VEC_PUSH(run->env->arena, &run->seen, s);
			return BERTH_OK;
		}
		VEC_PUSH(run->env->arena, &run->seen, s);
	}
	return BERTH_OK;
}

enum berth_code
opt_parse(const struct opt_set *sets, size_t n_sets, const struct opt_env *env, int argc,
    char *const *argv, const char *const **words_out, size_t *n_out, struct berth_err *err)
{
	struct opt_run run = { .sets = sets, .n_sets = n_sets, .env = env };
	enum berth_code rc = BERTH_OK;
	bool words_only = false;

	for (int i = 0; i < argc && rc == BERTH_OK; i++) {
		if (!words_only && strcmp(argv[i], "--") == 0) {
			words_only = true;
		} else if (words_only || argv[i][0] != '-' || argv[i][1] == '\0') {
			VEC_PUSH(env->arena, &run.words, argv[i]);
			words_only = words_only || env->stop_at_word;
		} else if (argv[i][1] == '-') {
			rc = opt_long(&run, argc, argv, &i, err);
		} else {
			rc = opt_short(&run, argc, argv, &i, err);
		}
	}
	if (rc == BERTH_OK)
		rc = opt_store_all(&run, err);
	VEC_PUSH(env->arena, &run.words, NULL);
	*words_out = run.words.v;
	*n_out = run.words.n - 1;
	return rc;
}

void
opt_help(const struct opt_row *rows, int columns, struct buf *out)
{
	for (; rows != NULL && rows->name != NULL; rows++) {
		char left[128];
		int n;

		if (rows->help == NULL)
			continue;
		n = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s",
		    rows->short_name != 0 ? '-' : ' ',
		    rows->short_name != 0 ? rows->short_name : ' ',
		    rows->short_name != 0 ? ',' : ' ', rows->name, rows->arg != NULL ? " " : "",
		    rows->arg != NULL ? rows->arg : "");
		if (n + 2 > OPT_HELP_INDENT)
			buf_printf(out, "%s\n%*s", left, OPT_HELP_INDENT, "");
		else
			buf_printf(out, "%-*s", OPT_HELP_INDENT, left);
		term_wrap(rows->help, strlen(rows->help), OPT_HELP_INDENT, OPT_HELP_INDENT,
		    columns == 0                     ? 80
		    : columns < OPT_HELP_INDENT + 20 ? OPT_HELP_INDENT + 20
						     : columns,
		    out);
		buf_add_char(out, '\n');
	}
}

const char *
opt_type_name(enum opt_type type)
{
	static const char *const names[OPT_TYPE_COUNT] = {
		[OPT_FLAG] = "flag",
		[OPT_STRING] = "string",
		[OPT_PATH] = "path",
		[OPT_CHOICE] = "choice",
		[OPT_INT] = "int",
		[OPT_DOUBLE] = "double",
		[OPT_DURATION] = "duration",
		[OPT_TIME] = "time",
		[OPT_SIZE] = "size",
		[OPT_MONEY] = "money",
		[OPT_LIST] = "list",
	};

	return (unsigned)type < OPT_TYPE_COUNT ? names[type] : "unknown";
}
