#include <string.h>

#include "cmd/line.h"
#include "util/arena.h"
#include "util/opt.h"
#include "util/str.h"
#include "util/vec.h"

#define GLOBAL(field) offsetof(struct cmd_global, field)

const struct opt_row cmd_global_rows[] = {
	{ .name = "config",
	    .type = OPT_PATH,
	    .arg = "FILE",
	    .help = "read this berth.yaml",
	    .offset = GLOBAL(config) },
	{ .name = "store",
	    .type = OPT_PATH,
	    .arg = "PATH",
	    .help = "keep history, offers and jobs in this store",
	    .offset = GLOBAL(store) },
	{ .name = "offline",
	    .type = OPT_FLAG,
	    .help = "call no provider over the network",
	    .offset = GLOBAL(offline) },
	{ .name = "now",
	    .type = OPT_TIME,
	    .arg = "TIME",
	    .help = "act as if it were TIME; for scripts and tests",
	    .offset = GLOBAL(now) },
	{ .name = "dry-run",
	    .type = OPT_FLAG,
	    .help = "do everything but change nothing",
	    .offset = GLOBAL(dry_run),
	    .alias = "dryrun" },
	{ .name = "yes",
	    .short_name = 'y',
	    .type = OPT_FLAG,
	    .help = "do not ask before spending or destroying",
	    .offset = GLOBAL(yes) },
	{ .name = "output",
	    .short_name = 'o',
	    .type = OPT_CHOICE,
	    .arg = "table|wide|json|csv|yaml",
	    .help = "form of the result",
	    .offset = GLOBAL(output) },
	{ .name = "quiet",
	    .short_name = 'q',
	    .type = OPT_FLAG,
	    .help = "print results, warnings and errors only",
	    .offset = GLOBAL(quiet) },
	{ .name = "verbose",
	    .short_name = 'v',
	    .type = OPT_FLAG,
	    .help = "say on stderr what is done",
	    .offset = GLOBAL(verbose) },
	{ .name = "no-color",
	    .type = OPT_FLAG,
	    .help = "no colour, as with NO_COLOR",
	    .offset = GLOBAL(no_color) },
	{ .name = "no-headers",
	    .type = OPT_FLAG,
	    .help = "leave out the headings of tables and csv",
	    .offset = GLOBAL(no_headers) },
	{ .name = "columns",
	    .type = OPT_LIST,
	    .arg = "NAME,...",
	    .help = "show these columns of a table or csv",
	    .offset = GLOBAL(columns) },
	{ .name = "log-format",
	    .type = OPT_CHOICE,
	    .arg = "text|json",
	    .help = "form of warnings and errors on stderr",
	    .offset = GLOBAL(log_format) },
	{ .name = "help",
	    .short_name = 'h',
	    .type = OPT_FLAG,
	    .help = "print help and do nothing",
	    .offset = GLOBAL(help) },
	{ .name = "version",
	    .type = OPT_FLAG,
	    .help = "print the version and do nothing",
	    .offset = GLOBAL(version) },
	{ .name = NULL },
};

static enum berth_code
line_unknown_verb(struct arena *a, const char *word, struct berth_err *err)
{
	VEC(const char *) names = { 0 };
	const char *near;

	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++)
		VEC_PUSH(a, &names, e->cmd->name);
	VEC_PUSH(a, &names, NULL);
	near = str_suggest(word, names.v);
	if (near != NULL)
		return err_set(
		    err, BERTH_EUSAGE, "unknown verb '%s' (did you mean '%s'?)", word, near);
	return err_set(err, BERTH_EUSAGE, "unknown verb '%s'", word);
}

static enum berth_code
line_unknown_sub(struct arena *a, const struct cmd *verb, const char *word, struct berth_err *err)
{
	VEC(const char *) names = { 0 };
	const char *near, *all;

	for (const struct cmd *sub = verb->subs; sub->name != NULL; sub++)
		VEC_PUSH(a, &names, sub->name);
	VEC_PUSH(a, &names, NULL);
	all = str_join(a, names.v, names.n - 1, ", ");
	if (word == NULL)
		return err_set(err, BERTH_EUSAGE, "say what to do: %s", all);
	near = str_suggest(word, names.v);
	if (near != NULL)
		return err_set(
		    err, BERTH_EUSAGE, "unknown word '%s' (did you mean '%s'?)", word, near);
	return err_set(err, BERTH_EUSAGE, "unknown word '%s'; there are %s", word, all);
}

static const struct opt_row *
line_long_row(const struct cmd *verb, const char *arg)
{
	const struct opt_row *row;
	char name[64];

	if (strlen(arg) >= sizeof(name) || strchr(arg, '=') != NULL)
		return NULL;
	str_copy(name, sizeof(name), arg);
	row = opt_find(cmd_global_rows, name);
	row = row != NULL ? row : opt_find(verb->opts, name);
	for (const struct cmd *sub = verb->subs; row == NULL && sub->name != NULL; sub++)
		row = opt_find(sub->opts, name);
	return row;
}

static const struct opt_row *
line_short_row(const struct cmd *verb, char c)
{
	const struct opt_row *row = opt_find_short(cmd_global_rows, c);

	row = row != NULL ? row : opt_find_short(verb->opts, c);
	for (const struct cmd *sub = verb->subs; row == NULL && sub->name != NULL; sub++)
		row = opt_find_short(sub->opts, c);
	return row;
}

/* Index of the first word, jumping over options of any subverb and their values; argc if there is
 * none. */
static int
line_first_word(const struct cmd *verb, int argc, char *const *argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		const struct opt_row *row = NULL;
		size_t n = strlen(argv[i]);

		if (strcmp(argv[i], "--") == 0)
			return argc;
		if (argv[i][0] != '-' || n == 1)
			return i;
		if (argv[i][1] == '-')
			row = line_long_row(verb, argv[i] + 2);
		else if (n == 2)
			row = line_short_row(verb, argv[i][1]);
		if (row != NULL && row->type != OPT_FLAG)
			i++;
	}
	return argc;
}

/* Chooses the subverb and takes its name out of the arguments. */
static enum berth_code
line_choose_sub(struct arena *a, struct line *line, int *argc, char ***argv, struct berth_err *err)
{
	int at = line_first_word(line->verb, *argc, *argv), n = 0;
	const char *word = at < *argc ? (*argv)[at] : NULL;
	const struct cmd *sub = word != NULL ? cmd_find_sub(line->verb, word) : NULL;
	char **rest;

	if (sub == NULL) {
		if (line->verb->run != NULL && (word == NULL || line->verb->args_max != 0))
			return BERTH_OK;
		return line->global.help ? BERTH_OK : line_unknown_sub(a, line->verb, word, err);
	}
	rest = arena_array_of(a, (size_t)*argc, char *);
	for (int i = 0; i < *argc; i++)
		if (i != at)
			rest[n++] = (*argv)[i];
	line->cmd = sub;
	line->name = arena_printf(a, "%s %s", line->verb->name, sub->name);
	*argc = n;
	*argv = rest;
	return BERTH_OK;
}

static enum berth_code
line_count_words(const struct line *line, struct berth_err *err)
{
	const struct cmd *cmd = line->cmd;
	size_t n = line->n_words;

	if (cmd->args_max >= 0 && n > (size_t)cmd->args_max)
		return err_set(
		    err, BERTH_EUSAGE, "unexpected word '%s'", line->words[cmd->args_max]);
	if (n < (size_t)cmd->args_min)
		return err_set(
		    err, BERTH_EUSAGE, "missing word: berth %s %s", line->name, cmd->args);
	return BERTH_OK;
}

/* True if -h or --help is among the arguments; then a missing subverb is no error. */
static bool
line_wants_help(int argc, char *const *argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
			return true;
	return false;
}

static enum berth_code
line_parse_verb(struct arena *a, struct line *line, int argc, char **argv, struct berth_err *err)
{
	struct opt_env env = { .arena = a, .now = &line->global.now };
	struct opt_set sets[2] = { { cmd_global_rows, &line->global } };
	enum berth_code rc;

	line->verb = cmd_find(argv[0]);
	if (line->verb == NULL)
		return line_unknown_verb(a, argv[0], err);
	line->cmd = line->verb;
	line->name = line->verb->name;
	argc--;
	argv++;
	line->global.help |= line_wants_help(argc, argv);
	if (line->verb->subs != NULL) {
		rc = line_choose_sub(a, line, &argc, &argv, err);
		if (rc != BERTH_OK)
			return rc;
	}
	line->opts = arena_alloc(a, line->cmd->opts_size > 0 ? line->cmd->opts_size : 1);
	if (line->cmd->opts_default != NULL)
		memcpy(line->opts, line->cmd->opts_default, line->cmd->opts_size);
	sets[1] = (struct opt_set){ line->cmd->opts, line->opts };
	rc = opt_parse(sets, 2, &env, argc, argv, &line->words, &line->n_words, err);
	if (rc != BERTH_OK || line->global.help || line->global.version)
		return rc;
	return line_count_words(line, err);
}

enum berth_code
line_parse(struct arena *a, int64_t clock, int argc, char *const *argv, struct line *line,
    struct berth_err *err)
{
	struct opt_env env = { .arena = a, .now = &line->global.now, .stop_at_word = true };
	struct opt_set set = { cmd_global_rows, &line->global };
	const char *const *words;
	enum berth_code rc;
	size_t n;
	char **rest;

	*line =
	    (struct line){ .name = "", .raw = (const char *const *)argv, .n_raw = (size_t)argc };
	line->global.now = clock;
	line->global.output = "table";
	line->global.log_format = "text";
	rc = opt_parse(&set, 1, &env, argc, argv, &words, &n, err);
	if (rc != BERTH_OK || n == 0)
		return rc;
	rest = arena_array_of(a, n + 1, char *);
	for (size_t i = 0; i < n; i++)
		rest[i] = arena_strdup(a, words[i]);
	return line_parse_verb(a, line, (int)n, rest, err);
}
