#include <stdio.h>
#include <string.h>

#include "providers/slurm/slurm.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"

bool
slurm_number(const struct jsonr *o, const char *key, int64_t *out)
{
	struct jsonr v = jsonr_get(o, key);
	struct jsonr set, inf;
	int64_t n = -1;

	if (json_is_object(v.v)) {
		set = jsonr_get(&v, "set");
		inf = jsonr_get(&v, "infinite");
		if (json_is_false(set.v) || json_is_true(inf.v) ||
		    jsonr_int(&v, "number", INT64_MIN, INT64_MAX, &n, NULL) != BERTH_OK)
			return false;
	} else if (jsonr_none(&v) || jsonr_int(o, key, INT64_MIN, INT64_MAX, &n, NULL) != BERTH_OK)
		return false;
	if (n < 0)
		return false;
	*out = n;
	return true;
}

/* Whether a list of words between '+' has the word; signs behind a word (IDLE*, IDLE~) are not part
 * of it. */
static bool
slurm_word_in(const char *list, const char *word)
{
	size_t n = strlen(word), len;

	for (;; list += len + 1) {
		len = strcspn(list, "+");
		if (str_istarts(list, word) && len >= n && strspn(list + n, "*~#%$@^!-") == len - n)
			return true;
		if (list[len] == '\0')
			return false;
	}
}

bool
slurm_has_word(const struct jsonr *o, const char *key, const char *word)
{
	struct jsonr v = jsonr_get(o, key);

	if (json_is_string(v.v))
		return slurm_word_in(json_string_value(v.v), word);
	for (size_t i = 0; i < jsonr_len(&v); i++) {
		const char *s = json_string_value(json_array_get(v.v, i));

		if (s != NULL && slurm_word_in(s, word))
			return true;
	}
	return false;
}

/* Length up to a comma outside of parentheses: "gpu:a100:2(IDX:0,2),gpu:1" has one. */
static size_t
slurm_gres_len(const char *s)
{
	size_t n = 0;
	int deep = 0;

	for (; s[n] != '\0' && (s[n] != ',' || deep > 0); n++)
		deep += s[n] == '(' ? 1 : s[n] == ')' ? -1 : 0;
	return n;
}

const struct slurm_gres *
slurm_gres_next(struct arena *a, const char **list)
{
	struct slurm_gres *g = arena_new_of(a, struct slurm_gres);
	size_t len = slurm_gres_len(*list);
	char *s = arena_strndup(a, *list, len), *part;
	int64_t count;

	if (**list == '\0')
		return NULL;
	*list += len + ((*list)[len] == ',');
	s[strcspn(s, "(")] = '\0';
	if (str_starts(s, "gres:") || str_starts(s, "gres/"))
		s += 5;
	*g = (struct slurm_gres){ s, "", 1 };
	part = strrchr(s, '=') != NULL ? strrchr(s, '=') : strrchr(s, ':');
	if (part != NULL && str_to_size(part + 1, &count, NULL) == BERTH_OK) {
		g->count = count;
		*part = '\0';
	}
	if ((part = strchr(s, ':')) != NULL) {
		*part = '\0';
		g->type = part + 1;
	}
	return g;
}

bool
slurm_read_comment(const char *comment, struct prov_machine *m)
{
	char word[3][80] = { "", "", "" };

	if (!str_starts(comment, "berth "))
		return false;
	comment += strlen("berth ");
	for (int i = 0; i < 3; i++) {
		size_t len = strcspn(comment, " ");

		if (len == 0 || len >= sizeof(word[i]))
			return false;
		memcpy(word[i], comment, len);
		comment += len + (comment[len] == ' ');
	}
	return comment[0] == '\0' && str_copy(m->installation, sizeof(m->installation), word[0]) &&
	       str_copy(m->token, sizeof(m->token), word[1]) &&
	       str_copy(m->instance_type, sizeof(m->instance_type), word[2]);
}

static const struct {
	const char *reason;
	enum berth_code code;
	bool at_once;
	const char *words;
} slurm_reasons[] = {
	{ "None", BERTH_OK, false, "the scheduler has not looked at it yet" },
	{ "Prolog", BERTH_OK, false, "the node is made ready" },
	{ "BeginTime", BERTH_OK, false, "its start is set for later" },
	{ "Cleaning", BERTH_OK, false, "its earlier try is cleaned up" },
	{ "Resources", BERTH_ECAPACITY, false, "no node has that much free" },
	{ "Priority", BERTH_ECAPACITY, false, "jobs with more priority are before it" },
	{ "ReqNodeNotAvail*", BERTH_ECAPACITY, false,
	    "nodes that it needs are down, drained or reserved" },
	{ "Nodes_required_for_job*", BERTH_ECAPACITY, false,
	    "nodes that it needs are down, drained or reserved" },
	{ "Reservation*", BERTH_ECAPACITY, false, "it waits for its reservation" },
	{ "Licenses", BERTH_ECAPACITY, false, "it waits for a licence" },
	{ "NodeDown", BERTH_ECAPACITY, false, "a node that it needs is down" },
	{ "PartitionDown", BERTH_ECAPACITY, true, "the partition is down" },
	{ "PartitionInactive", BERTH_ECAPACITY, true, "the partition is inactive" },
	{ "BadConstraints", BERTH_ECAPACITY, true, "no node could ever serve it" },
	{ "QOS*", BERTH_EQUOTA, true, "a limit of the quality of service" },
	{ "Assoc*", BERTH_EQUOTA, true, "a limit of the account or the user" },
	{ "Max*PerAccount", BERTH_EQUOTA, true, "a limit of the account" },
	{ "MaxMemPerLimit", BERTH_EPERMANENT, true, "more memory than the partition allows" },
	{ "Partition*Limit", BERTH_EPERMANENT, true,
	    "more nodes or time than the partition allows" },
	{ "AccountNotAllowed", BERTH_EAUTH, true, "the account may not use the partition" },
	{ "QOSNotAllowed", BERTH_EAUTH, true, "the quality of service may not use the partition" },
	{ "InvalidAccount", BERTH_EAUTH, true, "the account is not valid" },
	{ "InvalidQOS", BERTH_EAUTH, true, "the quality of service is not valid" },
	{ "JobHeld*", BERTH_EPERMANENT, true, "it is held" },
	{ "*held*", BERTH_EFAIL, true, "its start failed and it is held" },
	{ "*FailReason*", BERTH_EFAIL, true, "its start failed" },
};

const char *
slurm_reason(const char *reason, enum berth_code *code_out, bool *at_once_out)
{
	*code_out = BERTH_ECAPACITY;
	*at_once_out = false;
	/* whole names before patterns */
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < sizeof(slurm_reasons) / sizeof(slurm_reasons[0]); i++) {
			bool pattern = strchr(slurm_reasons[i].reason, '*') != NULL;

			if (pattern == (pass == 1) && glob_match(slurm_reasons[i].reason, reason)) {
				*code_out = slurm_reasons[i].code;
				*at_once_out = slurm_reasons[i].at_once;
				return slurm_reasons[i].words;
			}
		}
	return "it waits";
}
