#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/jlite.h"

struct jlite_in {
	struct jlite *j;
	const char *p, *end, *why;
	int cap;
};

static void
jlite_blanks(struct jlite_in *in)
{
	while (in->p < in->end &&
	       (*in->p == ' ' || *in->p == '\t' || *in->p == '\n' || *in->p == '\r'))
		in->p++;
}

static int
jlite_new(struct jlite_in *in, enum jlite_type type)
{
	struct jlite *j = in->j;

	if (j->n == in->cap) {
		int want = in->cap == 0 ? 256 : in->cap * 2;
		struct jlite_node *more =
		    want > JLITE_NODES ? NULL : realloc(j->nodes, (size_t)want * sizeof(*more));

		if (more == NULL) {
			in->why = "too many values";
			return -1;
		}
		j->nodes = more;
		in->cap = want;
	}
	j->nodes[j->n] = (struct jlite_node){ .type = type, .first = -1, .next = -1 };
	return j->n++;
}

static bool
jlite_quoted(struct jlite_in *in, const char **s, size_t *n)
{
	if (in->p >= in->end || *in->p != '"')
		return false;
	*s = ++in->p;
	while (in->p < in->end && *in->p != '"') {
		if ((unsigned char)*in->p < 0x20)
			return false;
		in->p += *in->p == '\\' && in->p + 1 < in->end ? 2 : 1;
	}
	if (in->p >= in->end)
		return false;
	*n = (size_t)(in->p++ - *s);
	return true;
}

static int jlite_value(struct jlite_in *in, int depth);

static int
jlite_list(struct jlite_in *in, int depth, bool object)
{
	const char close = object ? '}' : ']';
	int me = jlite_new(in, object ? JLITE_OBJECT : JLITE_ARRAY), last = -1;

	in->p++;
	jlite_blanks(in);
	if (me >= 0 && in->p < in->end && *in->p == close) {
		in->p++;
		return me;
	}
	while (me >= 0) {
		const char *key = NULL;
		size_t key_n = 0;
		int child;

		jlite_blanks(in);
		if (object) {
			if (!jlite_quoted(in, &key, &key_n))
				return -1;
			jlite_blanks(in);
			if (in->p >= in->end || *in->p++ != ':')
				return -1;
		}
		child = jlite_value(in, depth + 1);
		if (child < 0)
			return -1;
		in->j->nodes[child].key = key;
		in->j->nodes[child].key_n = key_n;
		if (last < 0)
			in->j->nodes[me].first = child;
		else
			in->j->nodes[last].next = child;
		last = child;
		jlite_blanks(in);
		if (in->p >= in->end || (*in->p != ',' && *in->p != close))
			return -1;
		if (*in->p++ == close)
			return me;
	}
	return -1;
}

static int
jlite_word(struct jlite_in *in)
{
	static const struct {
		const char *word;
		enum jlite_type type;
	} words[] = {
		{ "null", JLITE_NULL },
		{ "true", JLITE_BOOL },
		{ "false", JLITE_BOOL },
		{ "NaN", JLITE_NULL },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t n = strlen(words[i].word);
		int me;

		if ((size_t)(in->end - in->p) < n || memcmp(in->p, words[i].word, n) != 0)
			continue;
		me = jlite_new(in, words[i].type);
		if (me >= 0) {
			in->j->nodes[me].s = in->p;
			in->j->nodes[me].n = n;
		}
		in->p += n;
		return me;
	}
	return -1;
}

static int
jlite_value(struct jlite_in *in, int depth)
{
	const char *s;
	size_t n;
	int me;

	jlite_blanks(in);
	if (in->p >= in->end || depth > JLITE_DEPTH)
		return -1;
	if (*in->p == '{' || *in->p == '[')
		return jlite_list(in, depth, *in->p == '{');
	if (*in->p == '"') {
		if (!jlite_quoted(in, &s, &n) || (me = jlite_new(in, JLITE_STRING)) < 0)
			return -1;
	} else if (*in->p == '-' || isdigit((unsigned char)*in->p)) {
		for (s = in->p; in->p < in->end &&
				(isalnum((unsigned char)*in->p) || strchr("+-.", *in->p) != NULL);
		     in->p++)
			;
		n = (size_t)(in->p - s);
		if ((me = jlite_new(in, JLITE_NUMBER)) < 0)
			return -1;
	} else {
		return jlite_word(in);
	}
	in->j->nodes[me].s = s;
	in->j->nodes[me].n = n;
	return me;
}

bool
jlite_parse(struct jlite *j, const char *text, size_t len, const char **why)
{
	struct jlite_in in = { .j = j, .p = text, .end = text + len, .why = "not JSON" };
	int root;

	*j = (struct jlite){ NULL, 0 };
	root = jlite_value(&in, 0);
	jlite_blanks(&in);
	if (root == 0 && in.p == in.end)
		return true;
	*why = len == 0 ? "no output" : in.p == in.end ? "cut off" : in.why;
	jlite_free(j);
	return false;
}

void
jlite_free(struct jlite *j)
{
	free(j->nodes);
	*j = (struct jlite){ NULL, 0 };
}

int
jlite_get(const struct jlite *j, int node, const char *key)
{
	const size_t n = strlen(key);

	if (node < 0 || j->nodes[node].type != JLITE_OBJECT)
		return -1;
	for (int i = j->nodes[node].first; i >= 0; i = j->nodes[i].next)
		if (j->nodes[i].key_n == n && memcmp(j->nodes[i].key, key, n) == 0)
			return i;
	return -1;
}

bool
jlite_text_number(const char *text, size_t len, double *out, char *unit, size_t unit_n)
{
	char copy[96], *end;

	while (len > 0 && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	if (len == 0 || len >= sizeof(copy) || (!isdigit((unsigned char)*text) && *text != '.'))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (copy[0] == '0' && (copy[1] == 'x' || copy[1] == 'X'))
		return false;
	*out = strtod(copy, &end);
	if (end == copy || !isfinite(*out))
		return false;
	while (isspace((unsigned char)*end))
		end++;
	len = strlen(end);
	while (len > 0 && isspace((unsigned char)end[len - 1]))
		end[--len] = '\0';
	if (unit != NULL)
		snprintf(unit, unit_n, "%.*s", (int)unit_n - 1, end);
	return true;
}

bool
jlite_number(const struct jlite *j, int node, double *out, char *unit, size_t unit_n)
{
	const struct jlite_node *v;

	if (unit != NULL)
		unit[0] = '\0';
	if (node < 0)
		return false;
	v = &j->nodes[node];
	if (v->type == JLITE_OBJECT) {
		if (!jlite_number(j, jlite_get(j, node, "value"), out, unit, unit_n))
			return false;
		if (unit != NULL)
			(void)jlite_string(j, jlite_get(j, node, "unit"), unit, unit_n);
		return true;
	}
	return (v->type == JLITE_NUMBER || v->type == JLITE_STRING) &&
	       jlite_text_number(v->s, v->n, out, unit, unit_n);
}

bool
jlite_string(const struct jlite *j, int node, char *out, size_t n)
{
	if (node < 0 ||
	    (j->nodes[node].type != JLITE_STRING && j->nodes[node].type != JLITE_NUMBER))
		return false;
	snprintf(out, n, "%.*s", (int)(j->nodes[node].n < n ? j->nodes[node].n : n - 1),
	    j->nodes[node].s);
	return true;
}
