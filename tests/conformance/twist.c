#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "tests/conformance/twist.h"
#include "util/arena.h"
#include "util/str.h"

#define TWIST_PLACE "@@TWIST@@"
#define TWIST_REPEAT 10000
#define TWIST_LONG ((size_t)1 << 20)

/* JSON text each; those in capitals are made below. */
static const char *const twist_values[] = {
	"null", "true", "false", "0", "-1", "-0.0", "1", "1e308", "-1e308", "1e-300", "1e999", "1e15", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "18446744073709551616", "2147483648", "4294967297", "0.0000001", "NaN", "\"\"",
	"\" \"", "\"NaN\"", "\"nan\"", "\"inf\"", "\"-5\"", "\"1e400\"", "\"0x10\"", "\"1,5\"", "\"1\"", "\"0\"", "\"99999999999999999999\"",
	"[]", "{}", "[[]]", "[{}]", "[null]", "{\"a\":1}", "[\"a\",\"b\"]", "DEEP", "DEEPER", "LONG", "LONG", "TWICE", "REPEAT", "REPEAT", "CONTROL",
	"\"a\\u0000b\"", "\"\\u001b[2J\\u001b]0;x\\u0007\"", "\"line\\nbreak\\r\\nX-Injected: 1\"", "\"\\u009b31m\\u202e\"", "\"\\ud800\"",
	"\"\xff\xfe\"", "\"../../../other\"", "\"a/b?c=d#e\"", "\"%2e%2e%2f\"", "\"..\"", "\".\"", "\"a b\"",
	"\"1&Action=TerminateInstances\"", "\"-oProxyCommand=id\"", "\"$(id)\"", "\"`id`;'\\\"\"", "\"https://evil.example/steal?x=\"",
	"\"http://127.0.0.1:1/\"", "\"//evil.example/\"", "\"@evil.example\"", "\"zorblax\"", "\"zorblax\"", "\"ZORBLAX\"",
	"\"1969-12-31T23:59:59Z\"", "\"9999-12-31T23:59:59Z\"", "\"2026-06-30T23:59:60Z\"", "\"2026-11-30T00:00:00+99:99\"",
	"\"292277026596-12-04T15:30:08Z\"", "\"0000-00-00T00:00:00Z\"", "\"2026-02-30T25:61:61Z\"", "-62135596800", "253402300800",
	"1795996800000", "1795996800.5", "\"Thu, 01 Jan 1970 00:00:00 GMT\"", "\"berth-inst-tok-9\"", "\"%s%n%d\"",
};

static const char *
twist_fill(struct arena *a, const char *head, const char *unit, size_t n, const char *tail)
{
	size_t k = strlen(unit), at = strlen(head);
	char *s = arena_alloc(a, at + n * k + strlen(tail) + 1);

	memcpy(s, head, at + 1);
	for (size_t i = 0; i < n; i++, at += k)
		memcpy(s + at, unit, k);
	memcpy(s + at, tail, strlen(tail) + 1);
	return s;
}

/* n times: an array's elements, or the value in an array. */
static const char *
twist_repeated(struct arena *a, const json_t *old, size_t n)
{
	char *text = json_dumps(json_is_array(old) && json_array_size(old) > 0 ? json_array_get(old, 0) : old,
	    JSON_COMPACT | JSON_ENCODE_ANY);
	const char *unit = text != NULL ? arena_printf(a, "%s,", text) : "null,", *last = arena_printf(a, "%s]", text != NULL ? text : "null");

	if (strlen(unit) * n > 8 * TWIST_LONG)
		n = 2;
	free(text);
	return twist_fill(a, "[", unit, n - 1, last);
}

static const char *
twist_value(struct twist *t, struct arena *a, const char *key, const json_t *old)
{
	const char *v = twist_values[t->pick % (sizeof(twist_values) / sizeof(twist_values[0]))];
	char *text;

	if (str_eq(v, "DEEP"))
		return twist_fill(a, "", "[", 60, twist_fill(a, "", "]", 60, ""));
	if (str_eq(v, "DEEPER"))
		return twist_fill(a, "", "[", 100000, twist_fill(a, "", "]", 100000, ""));
	if (str_eq(v, "LONG"))
		return twist_fill(a, "\"", "A", TWIST_LONG, "\"");
	if (str_eq(v, "CONTROL"))
		return twist_fill(a, "\"", "\\u0001\\u007f", 20, "\"");
	if (str_eq(v, "REPEAT"))
		return twist_repeated(a, old, TWIST_REPEAT);
	if (!str_eq(v, "TWICE"))
		return v;
	text = json_dumps(old, JSON_COMPACT | JSON_ENCODE_ANY);
	v = key[0] == '\0' || text == NULL ? "[0,0]" : arena_printf(a, "%s,\"%s\":%s", text, key, text);
	free(text);
	return v;
}

static void
twist_told(struct twist *t, const char *key, const char *old, const char *value)
{
	static const char *const states[] = { "RUNNING", "running", "Running", "active", "ACTIVE", "PowerState/running", "STATE_RUNNING" };

	t->hit = true;
	str_copy(t->name, sizeof(t->name), key[0] != '\0' ? key : "element");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		t->is_state |= old != NULL && str_eq(states[i], old);
	t->value = value;
	snprintf(t->shown, sizeof(t->shown), "%.99s", value);
}

static const char *
twist_put(struct arena *a, const char *text, const char *value)
{
	const char *place = strstr(text, "\"" TWIST_PLACE "\"");

	return place == NULL ? arena_strdup(a, text) : arena_printf(a, "%.*s%s%s", (int)(place - text), text, value, place + strlen(TWIST_PLACE) + 2);
}

static json_t *twist_within(struct twist *t, struct arena *a, const char *key, json_t *v);

/* JSON in a string: the string with one of its values twisted; NULL: none was. */
static json_t *
twist_nested(struct twist *t, struct arena *a, const char *key, const json_t *v)
{
	const char *s = json_string_value(v);
	json_t *in = s[0] == '{' || s[0] == '[' ? json_loads(s, 0, NULL) : NULL, *out;
	const char *text;
	char *dump;

	if (in == NULL)
		return NULL;
	out = twist_within(t, a, key, in);
	json_decref(out);
	if (!t->hit) {
		json_decref(in);
		return NULL;
	}
	dump = json_dumps(in, JSON_COMPACT);
	text = twist_put(a, dump != NULL ? dump : "", t->value);
	free(dump);
	json_decref(in);
	out = json_string(text);
	return out != NULL ? out : json_string("zorblax");
}

/* What v becomes; NULL: it stays. */
static json_t *
twist_one(struct twist *t, struct arena *a, const char *key, json_t *v)
{
	if (t->seen++ == t->at) {
		twist_told(t, key, json_string_value(v), twist_value(t, a, key, v));
		return json_string(TWIST_PLACE);
	}
	return json_is_string(v) ? twist_nested(t, a, key, v) : twist_within(t, a, key, v);
}

static json_t *
twist_within(struct twist *t, struct arena *a, const char *key, json_t *v)
{
	const char *name;
	json_t *inner, *now;
	size_t i;

	json_array_foreach(v, i, inner) {
		if (t->hit)
			return NULL;
		if ((now = twist_one(t, a, key, inner)) != NULL) {
			json_array_set_new(v, i, now);
			return NULL;
		}
	}
	json_object_foreach(v, name, inner) {
		if (t->hit)
			return NULL;
		if ((now = twist_one(t, a, name, inner)) != NULL) {
			json_object_set_new(v, name, now);
			return NULL;
		}
	}
	return NULL;
}

/* A value as the text of XML or of a cell. */
static const char *
twist_plain(struct arena *a, const char *value)
{
	json_t *v = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	const char *s = json_is_string(v) ? arena_strdup(a, json_string_value(v)) : value;
	size_t n = strlen(s);
	char *out = arena_alloc(a, n * 6 + 1), *p = out;

	for (; *s != '\0'; s++) {
		const char *as = *s == '<' ? "&lt;" : *s == '&' ? "&amp;" : NULL;

		if (as != NULL)
			p += snprintf(p, 6, "%s", as);
		else
			*p++ = *s;
	}
	*p = '\0';
	json_decref(v);
	return out;
}

/* "<item>...</item>" around at, many times over; NULL: there is none. */
static const char *
twist_items(struct arena *a, const char *text, const char *at, size_t n)
{
	const char *from = NULL, *end, *p = text;
	int depth;

	while ((p = strstr(p, "<item>")) != NULL && p < at)
		from = p++;
	if (from == NULL)
		return NULL;
	for (p = from, depth = 0;; p = end + 1) {
		const char *open = strstr(p, "<item>"), *close = strstr(p, "</item>");

		if (close == NULL)
			return NULL;
		end = open != NULL && open < close ? open : close;
		depth += end == open ? 1 : -1;
		if (depth == 0)
			break;
	}
	end += strlen("</item>");
	if ((size_t)(end - from) * n > 8 * TWIST_LONG)
		n = 3;
	return arena_printf(a, "%.*s%s%s", (int)(from - text), text, twist_fill(a, "", arena_strndup(a, from, (size_t)(end - from)), n, ""), end);
}

static const char *
twist_xml(struct twist *t, struct arena *a, const char *text)
{
	for (const char *p = strchr(text, '>'); p != NULL; p = strchr(p + 1, '>')) {
		size_t n = strcspn(p + 1, "<");
		const char *close = p + 1 + n, *all;
		char key[60];

		if (n == 0 || close[0] == '\0' || close[1] != '/' || t->seen++ != t->at)
			continue;
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(close + 2, ">"), close + 2);
		twist_told(t, key, arena_strndup(a, p + 1, n), twist_value(t, a, "", NULL));
		if (t->pick % 16 == 0 && (all = twist_items(a, text, p, TWIST_REPEAT)) != NULL) {
			t->value = "the item many times";
			t->is_state = false;
			return all;
		}
		return arena_printf(a, "%.*s%s%s", (int)(p + 1 - text), text, twist_plain(a, t->value), close);
	}
	return text;
}

static const char *
twist_csv(struct twist *t, struct arena *a, const char *text)
{
	for (const char *p = text; *p != '\0';) {
		size_t n = strcspn(p, ",\n");

		if (t->seen++ == t->at) {
			twist_told(t, "cell", NULL, twist_value(t, a, "", NULL));
			return arena_printf(a, "%.*s%s%s", (int)(p - text), text, twist_plain(a, t->value), p + n);
		}
		p += n + (p[n] != '\0');
	}
	return text;
}

static void
twist_headers(struct twist *t, struct arena *a, struct http_resp *resp)
{
	static const char *const read[] = { "opc-next-page", "Link", "X-Subject-Token", "Location" };

	for (size_t i = 0; i < resp->n_headers && !t->hit; i++)
		for (size_t k = 0; k < sizeof(read) / sizeof(read[0]); k++)
			if (strcasecmp(resp->headers[i].name, read[k]) == 0 && t->seen++ == t->at) {
				twist_told(t, read[k], NULL, twist_value(t, a, "", NULL));
				resp->headers[i].value = twist_plain(a, t->value);
			}
}

void
twist_answer(struct twist *t, struct arena *a, struct http_resp *resp)
{
	const char *text = resp->body;
	json_t *v;
	char *dump;

	if (t->hit)
		return;
	v = json_loadb(resp->body, resp->body_len, 0, NULL);
	if (v != NULL) {
		(void)twist_within(t, a, "", v);
		if (t->hit) {
			dump = json_dumps(v, JSON_COMPACT);
			text = twist_put(a, dump != NULL ? dump : "", t->value);
			free(dump);
		}
		json_decref(v);
	} else if (resp->body_len > 0 && resp->body[0] == '<') {
		text = twist_xml(t, a, text);
	} else if (resp->body_len > 0) {
		text = twist_csv(t, a, text);
	}
	if (t->hit) {
		resp->body = text;
		resp->body_len = strlen(text);
	} else {
		twist_headers(t, a, resp);
	}
}
