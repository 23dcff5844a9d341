#include <stdio.h>
#include <string.h>

#include "cmd/complete.h"
#include "util/buf.h"
#include "util/opt.h"
#include "util/str.h"

/* Placeholders whose values berth can list; completion.c says how. */
static const char *const complete_named[] = { "SERIES", "GPU", "PROVIDER", "JOB", "INSTANCE",
	"ACCOUNT", "VERB", NULL };

/* Files what stands in text [n]: a|b|c, FILE, SERIES. */
static void
complete_token(const char *text, size_t n, struct complete_kind *kind)
{
	char word[128];
	size_t used;

	if (n == 0 || n >= sizeof(word))
		return;
	memcpy(word, text, n);
	word[n] = '\0';
	if (str_eq(word, "FILE") || str_eq(word, "PATH") || str_eq(word, "DIR")) {
		kind->files = true;
	} else if (str_index(word, complete_named) >= 0) {
		str_copy(kind->names, sizeof(kind->names), word);
	} else if (strchr(word, '|') != NULL &&
		   word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-|")] == '\0') {
		for (char *p = word; *p != '\0'; p++)
			*p = *p == '|' ? ' ' : *p;
		used = strlen(kind->words);
		snprintf(kind->words + used, sizeof(kind->words) - used, "%s%s",
		    used > 0 ? " " : "", word);
	}
}

void
complete_option(const struct opt_row *row, struct complete_kind *kind)
{
	*kind = (struct complete_kind){ .files = row->type == OPT_PATH };
	if (row->arg != NULL && row->type != OPT_PATH)
		complete_token(row->arg, strcspn(row->arg, ",. "), kind);
}

void
complete_words(const struct cmd *cmd, struct complete_kind *kind)
{
	const char *p = cmd->args != NULL ? cmd->args : "";

	*kind = (struct complete_kind){ 0 };
	while (*p != '\0') {
		size_t n = strcspn(p, " []()");

		complete_token(p, n, kind);
		p += n;
		p += strspn(p, " []()");
	}
}

typedef void complete_visit_fn(struct buf *out, const struct cmd *verb, const struct cmd *sub);

/* Each verb, then each of its subverbs; sub is NULL for the verb itself. */
static void
complete_each(struct buf *out, complete_visit_fn *visit)
{
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++) {
		visit(out, e->cmd, NULL);
		for (const struct cmd *sub = e->cmd->subs; sub != NULL && sub->name != NULL; sub++)
			visit(out, e->cmd, sub);
	}
}

static bool
complete_shown(const struct opt_row *row)
{
	return row->help != NULL;
}

/* bash */

static void
bash_options(struct buf *out, const struct opt_row *rows)
{
	for (; rows != NULL && rows->name != NULL; rows++)
		if (complete_shown(rows))
			buf_printf(out, " --%s", rows->name);
}

static void
bash_kind(struct buf *out, const struct complete_kind *k)
{
	if (k->words[0] != '\0')
		buf_printf(out, "words %s;", k->words);
	if (k->names[0] != '\0')
		buf_printf(out, "names %s;", k->names);
	if (k->files)
		buf_add_str(out, "files;");
	buf_add_str(out, "value;");
}

static void
bash_values(struct buf *out, const char *verb, const char *sub, const struct opt_row *rows)
{
	struct complete_kind k;

	for (; rows != NULL && rows->name != NULL; rows++) {
		if (!complete_shown(rows) || rows->type == OPT_FLAG)
			continue;
		complete_option(rows, &k);
		buf_printf(out, "\t%s%s%s:--%s%s", verb, sub[0] != '\0' ? "\\ " : "", sub,
		    rows->name, rows->short_name == 0 ? "" : "|");
		if (rows->short_name != 0)
			buf_printf(out, "%s%s%s:-%c", verb, sub[0] != '\0' ? "\\ " : "", sub,
			    rows->short_name);
		buf_add_str(out, ") echo '");
		bash_kind(out, &k);
		buf_add_str(out, "' ;;\n");
	}
}

static void
bash_verb_options(struct buf *out, const struct cmd *verb, const struct cmd *sub)
{
	const struct cmd *cmd = sub != NULL ? sub : verb;
	struct complete_kind k;

	buf_printf(out, "\t%s%s%s) echo '", verb->name, sub != NULL ? "\\ " : "",
	    sub != NULL ? sub->name : "");
	bash_options(out, cmd->opts);
	buf_add_str(out, "'; echo '");
	complete_words(cmd, &k);
	bash_kind(out, &k);
	buf_add_str(out, "'; echo '");
	for (const struct cmd *s = sub == NULL ? verb->subs : NULL; s != NULL && s->name != NULL;
	     s++)
		buf_printf(out, "%s ", s->name);
	buf_add_str(out, "' ;;\n");
}

static void
bash_verb_values(struct buf *out, const struct cmd *verb, const struct cmd *sub)
{
	bash_values(
	    out, verb->name, sub != NULL ? sub->name : "", sub != NULL ? sub->opts : verb->opts);
}

/* The part that is the same whatever the rows are; $1 of the functions is "verb" or "verb sub". */
static const char bash_body[] =
    "_berth_offer() {\n"
    "\tlocal kind rest IFS=';'\n"
    "\tfor kind in $1; do\n"
    "\t\trest=${kind#* }\n"
    "\t\tcase $kind in\n"
    "\t\twords*) IFS=' ' COMPREPLY+=($(IFS=' ' compgen -W \"$rest\" -- \"$2\")) ;;\n"
    "\t\tnames*) COMPREPLY+=($(IFS=$'\\n' compgen -W \"$(berth completion --names \"$rest\" "
    "2>/dev/null)\" -- \"$2\")) ;;\n"
    "\t\tfiles) compopt -o filenames 2>/dev/null; COMPREPLY+=($(IFS=$'\\n'; compgen -f -- \"$2\")) "
    ";;\n"
    "\t\tesac\n"
    "\tdone\n"
    "}\n"
    "_berth() {\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= sub= i w value "
    "subs lines\n"
    "\tCOMPREPLY=()\n"
    "\tif [[ $cur == '=' ]]; then cur=; elif [[ $prev == '=' ]]; then "
    "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
    "\t\tw=${COMP_WORDS[i]}\n"
    "\t\tif [[ $w == -* ]]; then\n"
    "\t\t\tvalue=$(_berth_value \"$verb${sub:+ $sub}\" \"$w\")\n"
    "\t\t\t[[ -n $value && ${COMP_WORDS[i+1]} != '=' ]] && ((i++))\n"
    "\t\t\t[[ -n $value && ${COMP_WORDS[i+1]} == '=' ]] && ((i += 2))\n"
    "\t\telif [[ -z $verb ]]; then verb=$w\n"
    "\t\telif [[ -z $sub ]]; then\n"
    "\t\t\tsubs=$(_berth_verb \"$verb\" | sed -n 3p)\n"
    "\t\t\t[[ \" $subs\" == *\" $w \"* ]] && sub=$w\n"
    "\t\tfi\n"
    "\tdone\n"
    "\tvalue=$(_berth_value \"$verb${sub:+ $sub}\" \"$prev\")\n"
    "\tif [[ -n $value ]]; then _berth_offer \"$value\" \"$cur\"; return; fi\n"
    "\tmapfile -t lines < <(_berth_verb \"$verb${sub:+ $sub}\")\n"
    "\tif [[ $cur == -* ]]; then\n"
    "\t\tCOMPREPLY=($(compgen -W \"$_berth_globals ${lines[0]}\" -- \"$cur\"))\n"
    "\telif [[ -z $verb ]]; then\n"
    "\t\tCOMPREPLY=($(compgen -W \"$_berth_verbs\" -- \"$cur\"))\n"
    "\telse\n"
    "\t\tCOMPREPLY=($(compgen -W \"${lines[2]}\" -- \"$cur\"))\n"
    "\t\t_berth_offer \"${lines[1]}\" \"$cur\"\n"
    "\tfi\n"
    "}\n"
    "complete -F _berth berth\n";

void
complete_bash(struct buf *out)
{
	buf_add_str(
	    out, "# bash completion for berth, made by: berth completion bash\n_berth_globals='");
	bash_options(out, cmd_global_rows);
	buf_add_str(out, "'\n_berth_verbs='");
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++)
		buf_printf(out, "%s%s", e == cmd_registry ? "" : " ", e->cmd->name);
	buf_add_str(out, "'\n# options; kinds of words; subverbs: one line each\n_berth_verb() "
			 "{\n\tcase $1 in\n");
	complete_each(out, bash_verb_options);
	buf_add_str(out, "\tesac\n}\n# what an option's value may be; nothing if it takes "
			 "none\n_berth_value() {\n"
			 "\tcase $1:$2 in\n");
	complete_each(out, bash_verb_values);
	bash_values(out, "*", "", cmd_global_rows);
	buf_add_str(out, "\tesac\n}\n");
	buf_add_str(out, bash_body);
}

/* zsh */

static void
zsh_text(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'')
			buf_add_str(out, "'\\''");
		else if (strchr("[]:\\", *s) != NULL)
			buf_printf(out, "\\%c", *s);
		else
			buf_add_char(out, *s);
	}
}

static void
zsh_kind(struct buf *out, const struct complete_kind *k)
{
	if (k->words[0] != '\0')
		buf_printf(out, "(%s)", k->words);
	else if (k->names[0] != '\0')
		buf_printf(out, "_berth_names %s", k->names);
	else if (k->files)
		buf_add_str(out, "_files");
	else
		buf_add_char(out, ' ');
}

static void
zsh_options(struct buf *out, const struct opt_row *rows, const char *indent)
{
	struct complete_kind k;

	for (; rows != NULL && rows->name != NULL; rows++) {
		if (!complete_shown(rows))
			continue;
		buf_add_str(out, indent);
		if (rows->short_name != 0)
			buf_printf(out, "'(-%c --%s)'{-%c,--%s}'[", rows->short_name, rows->name,
			    rows->short_name, rows->name);
		else
			buf_printf(out, "'%s--%s[", rows->type == OPT_LIST ? "*" : "", rows->name);
		zsh_text(out, rows->help);
		buf_add_char(out, ']');
		if (rows->type != OPT_FLAG) {
			complete_option(rows, &k);
			buf_add_char(out, ':');
			zsh_text(out, rows->arg);
			buf_add_char(out, ':');
			zsh_kind(out, &k);
		}
		buf_add_str(out, "'\n");
	}
}

static void
zsh_words(struct buf *out, const struct cmd *cmd, const char *indent)
{
	struct complete_kind k;

	complete_words(cmd, &k);
	if (k.words[0] == '\0' && k.names[0] == '\0' && !k.files)
		return;
	if (k.files && k.words[0] != '\0') {
		buf_printf(out, "%s'1:word:(%s)'\n%s'*:file:_files'\n", indent, k.words, indent);
		return;
	}
	buf_printf(out, "%s'*:word:", indent);
	zsh_kind(out, &k);
	buf_add_str(out, "'\n");
}

static void
zsh_sub_list(struct buf *out, const struct cmd *verb)
{
	buf_add_str(out, "\t\t\t_arguments -C $globals '1:subverb:->sub' '*::word:->rest'\n"
			 "\t\t\tcase $state in\n\t\t\tsub) subs=(\n");
	for (const struct cmd *sub = verb->subs; sub->name != NULL; sub++) {
		buf_printf(out, "\t\t\t\t'%s:", sub->name);
		zsh_text(out, sub->summary);
		buf_add_str(out, "'\n");
	}
	buf_add_str(
	    out, "\t\t\t\t); _describe subverb subs ;;\n\t\t\trest)\n\t\t\t\tcase $words[1] in\n");
	for (const struct cmd *sub = verb->subs; sub->name != NULL; sub++) {
		buf_printf(out, "\t\t\t\t%s) specs=(\n", sub->name);
		zsh_options(out, sub->opts, "\t\t\t\t\t");
		zsh_words(out, sub, "\t\t\t\t\t");
		buf_add_str(out, "\t\t\t\t\t); _arguments -s $globals $specs ;;\n");
	}
	buf_add_str(out, "\t\t\t\tesac ;;\n\t\t\tesac ;;\n");
}

void
complete_zsh(struct buf *out)
{
	buf_add_str(out,
	    "#compdef berth\n# zsh completion for berth, made by: berth completion zsh\n"
	    "_berth_names() {\n\tlocal -a names\n\tnames=(${(f)\"$(berth completion --names $1 "
	    "2>/dev/null)\"})\n"
	    "\tcompadd -a names\n}\n_berth() {\n\tlocal curcontext=$curcontext state line\n"
	    "\tlocal -a globals verbs subs specs\n\tglobals=(\n");
	zsh_options(out, cmd_global_rows, "\t\t");
	buf_add_str(out, "\t)\n\t_arguments -C -s $globals '1:verb:->verb' "
			 "'*::word:->word'\n\tcase $state in\n\tverb)\n"
			 "\t\tverbs=(\n");
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++) {
		buf_printf(out, "\t\t\t'%s:", e->cmd->name);
		zsh_text(out, e->cmd->summary);
		buf_add_str(out, "'\n");
	}
	buf_add_str(out, "\t\t)\n\t\t_describe verb verbs ;;\n\tword)\n\t\tcase $words[1] in\n");
	for (const struct cmd_entry *e = cmd_registry; e->cmd != NULL; e++) {
		buf_printf(out, "\t\t%s)\n", e->cmd->name);
		if (e->cmd->subs != NULL) {
			zsh_sub_list(out, e->cmd);
			continue;
		}
		buf_add_str(out, "\t\t\tspecs=(\n");
		zsh_options(out, e->cmd->opts, "\t\t\t\t");
		zsh_words(out, e->cmd, "\t\t\t\t");
		buf_add_str(out, "\t\t\t); _arguments -s $globals $specs ;;\n");
	}
	buf_add_str(out, "\t\tesac ;;\n\tesac\n}\n"
			 "if [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"; else compdef "
			 "_berth berth; fi\n");
}

/* fish */

static void
fish_text(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\'' || *s == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *s);
	}
}

static void
fish_kind(struct buf *out, const struct complete_kind *k)
{
	if (k->words[0] != '\0')
		buf_printf(out, " -a '%s'", k->words);
	if (k->names[0] != '\0')
		buf_printf(out, " -a '(berth completion --names %s 2>/dev/null)'", k->names);
	if (k->files)
		buf_add_str(out, " -F");
}

static void
fish_options(struct buf *out, const char *condition, const struct opt_row *rows)
{
	struct complete_kind k;

	for (; rows != NULL && rows->name != NULL; rows++) {
		if (!complete_shown(rows))
			continue;
		buf_printf(out, "complete -c berth%s -l %s", condition, rows->name);
		if (rows->short_name != 0)
			buf_printf(out, " -s %c", rows->short_name);
		if (rows->type != OPT_FLAG) {
			complete_option(rows, &k);
			buf_add_str(out, k.files ? " -r" : " -x");
			fish_kind(out, &k);
		}
		buf_add_str(out, " -d '");
		fish_text(out, rows->help);
		buf_add_str(out, "'\n");
	}
}

static void
fish_verb(struct buf *out, const struct cmd *verb, const struct cmd *sub)
{
	const struct cmd *cmd = sub != NULL ? sub : verb;
	char condition[256];
	struct complete_kind k;

	if (sub != NULL)
		buf_printf(
		    out, "complete -c berth -n '__berth_is %s' -a %s -d '", verb->name, sub->name);
	else
		buf_printf(
		    out, "complete -c berth -n __fish_use_subcommand -a %s -d '", verb->name);
	fish_text(out, cmd->summary);
	buf_add_str(out, "'\n");
	snprintf(condition, sizeof(condition), " -n '__berth_is %s%s%s'", verb->name,
	    sub != NULL ? " " : "", sub != NULL ? sub->name : "");
	fish_options(out, condition, cmd->opts);
	complete_words(cmd, &k);
	if (k.words[0] != '\0' || k.names[0] != '\0' || k.files) {
		buf_printf(out, "complete -c berth%s", condition);
		fish_kind(out, &k);
		buf_add_char(out, '\n');
	}
}

void
complete_fish(struct buf *out)
{
	buf_add_str(out,
	    "# fish completion for berth, made by: berth completion fish\n"
	    "# true if the words so far begin with these: verb, subverb\n"
	    "function __berth_is\n\tset -l words (commandline -opc | string match -v -- '-*')\n"
	    "\tfor i in (seq (count $argv))\n\t\tset -l j (math $i + 1)\n"
	    "\t\ttest \"$words[$j]\" = \"$argv[$i]\"; or return 1\n\tend\nend\n"
	    "complete -c berth -f\n");
	fish_options(out, "", cmd_global_rows);
	complete_each(out, fish_verb);
}
