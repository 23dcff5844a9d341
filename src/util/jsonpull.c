#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/jsonpull.h"
#include "util/str.h"

#define JSONPULL_WINDOW ((size_t)256 * 1024)

static void
jsonpull_start(struct jsonpull *p, const char *name)
{
	memset(p, 0, sizeof(*p));
	p->name = name;
	p->text = "";
	p->held = SIZE_MAX;
	p->size = JSONPULL_WINDOW;
	p->window = malloc(p->size + JSONSCAN_PAD);
	if (p->window == NULL) {
		p->code = BERTH_ENOMEM;
		p->size = 0;
	} else {
		memset(p->window, 0, JSONSCAN_PAD);
	}
}

void
jsonpull_file(struct jsonpull *p, FILE *file, const char *name)
{
	jsonpull_start(p, name);
	p->file = file;
}

void
jsonpull_bytes(struct jsonpull *p, const char *bytes, size_t n, const char *name)
{
	jsonpull_start(p, name);
	p->bytes = bytes;
	p->n_bytes = n;
}

static enum jsonpull_type
jsonpull_error(struct jsonpull *p, enum berth_code code, const char *why)
{
	if (p->code == BERTH_OK) {
		p->code = code;
		p->why_at = p->offset + p->at;
		str_copy(p->why, sizeof(p->why), why);
	}
	p->text = "";
	p->len = 0;
	return p->type = JSONPULL_ERROR;
}

void
jsonpull_fail(struct jsonpull *p, const char *fmt, ...)
{
	char why[sizeof(p->why)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	(void)jsonpull_error(p, BERTH_EINVAL, why);
}

enum berth_code
jsonpull_close(struct jsonpull *p, struct berth_err *err)
{
	enum berth_code rc = p->code;

	free(p->window);
	p->window = NULL;
	p->size = p->at = p->end = 0;
	p->eof = true;
	p->text = "";
	if (rc == BERTH_OK)
		return rc;
	if (rc == BERTH_ENOMEM)
		return err_set(err, rc, "%s: no memory to read it", p->name);
	(void)err_set(err, rc, "%s: %s", p->name, p->why);
	(void)err_at(err, "%s:byte %llu", p->name, (unsigned long long)p->why_at);
	return rc;
}

/* Room behind end: what lies before the reading place (or what is held) makes way, or the window
 * grows. */
static bool
jsonpull_room(struct jsonpull *p)
{
	size_t keep = p->held < p->at ? p->held : p->at, size;
	char *grown;

	if (keep > 0) {
		memmove(p->window, p->window + keep, p->end - keep);
		p->offset += keep;
		p->at -= keep;
		p->end -= keep;
		if (p->held != SIZE_MAX)
			p->held -= keep;
	}
	if (p->end <= p->size / 2)
		return true;
	size = p->size * 2;
	grown = realloc(p->window, size + JSONSCAN_PAD);
	if (grown == NULL) {
		(void)jsonpull_error(p, BERTH_ENOMEM, "no memory");
		return false;
	}
	p->window = grown;
	p->size = size;
	return true;
}

/* More bytes behind end. False: there are none (eof), or an error is kept. */
static bool
jsonpull_fill(struct jsonpull *p)
{
	bool first = p->offset + p->end == 0;
	size_t n;

	if (p->held != SIZE_MAX && p->end - p->held > JSONPULL_TOKEN_MAX)
		(void)jsonpull_error(p, BERTH_EINVAL, "one value is longer than 16 MiB");
	if (p->eof || p->code != BERTH_OK || !jsonpull_room(p))
		return false;
	n = p->size - p->end < JSONPULL_WINDOW ? p->size - p->end : JSONPULL_WINDOW;
	if (p->file != NULL) {
		n = fread(p->window + p->end, 1, n, p->file);
		if (n == 0 && ferror(p->file)) {
			(void)jsonpull_error(p, BERTH_EIO, strerror(errno));
			return false;
		}
	} else {
		n = n < p->n_bytes ? n : p->n_bytes;
		if (n > 0)
			memcpy(p->window + p->end, p->bytes, n);
		p->bytes += n;
		p->n_bytes -= n;
	}
	p->eof = n == 0;
	p->end += n;
	memset(p->window + p->end, 0, JSONSCAN_PAD);
	/* a byte order mark is no part of the text */
	if (first && n >= 3 && memcmp(p->window, "\xef\xbb\xbf", 3) == 0)
		p->at = 3;
	return n > 0;
}

/* The next byte that is no blank, not passed; -1: the end, or an error. */
static int
jsonpull_peek(struct jsonpull *p)
{
	for (;;) {
		const char *s = p->window + p->at;

		if (p->at < p->end && (unsigned char)*s > 0x20)
			return (unsigned char)*s;
		p->at += p->at < p->end ? jsonscan_blank(s, p->end - p->at) : 0;
		if (p->at < p->end)
			return (unsigned char)p->window[p->at];
		if (!jsonpull_fill(p))
			return -1;
	}
}

static int
jsonpull_hex(const char *s)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d;

		d = s[i] != '\0' ? strchr(digits, str_lower_char(s[i])) : NULL;

		if (d == NULL)
			return -1;
		v = v * 16 + (int)(d - digits);
	}
	return v;
}

static size_t
jsonpull_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* \uXXXX at s (behind the backslash), n bytes left; a low surrogate must follow a high one. 0: bad.
 */
static size_t
jsonpull_unicode(const char *s, size_t n, char *out, size_t *out_len)
{
	int c = n >= 5 ? jsonpull_hex(s + 1) : -1, low;
	size_t used = 5;

	if (c <= 0 || (c >= 0xdc00 && c < 0xe000))
		return 0;
	if (c >= 0xd800 && c < 0xdc00) {
		low = n >= 11 && s[5] == '\\' && s[6] == 'u' ? jsonpull_hex(s + 7) : -1;
		if (low < 0xdc00 || low >= 0xe000)
			return 0;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		used = 11;
	}
	*out_len += jsonpull_utf8(out + *out_len, (unsigned)c);
	return used;
}

/* Resolves the escapes of s [n] in place; the result is never longer. SIZE_MAX: one of them is bad.
 */
static size_t
jsonpull_unescape(char *s, size_t n)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	size_t out = 0, used;

	for (size_t i = 0; i < n;) {
		const char *f;

		if (s[i] != '\\') {
			s[out++] = s[i++];
			continue;
		}
		i++;
		if (i < n && s[i] == 'u') {
			used = jsonpull_unicode(s + i, n - i, s, &out);
			if (used == 0)
				return SIZE_MAX;
			i += used;
			continue;
		}
		f = i < n && s[i] != '\0' ? strchr(from, s[i]) : NULL;
		if (f == NULL)
			return SIZE_MAX;
		s[out++] = to[f - from];
		i++;
	}
	return out;
}

/* At an opening quote: the string into text. */
static bool
jsonpull_read_string(struct jsonpull *p)
{
	bool escapes = false;
	int high = 0;
	size_t i, n;
	char *s;

	p->held = p->at + 1;
	for (i = 0;;) { /* i: bytes of the string passed; the window may move under it */
		i += jsonscan_string(p->window + p->held + i, p->end - p->held - i, &high);
		if (p->held + i >= p->end) {
			if (jsonpull_fill(p))
				continue;
			(void)jsonpull_error(p, BERTH_EINVAL, "cut within a string");
			return false;
		}
		s = p->window + p->held + i;
		if (*s == '"')
			break;
		p->at = p->held + i - 1;
		if (*s != '\\') {
			(void)jsonpull_error(p, BERTH_EINVAL, "a control character in a string");
			return false;
		}
		escapes = true;
		if (s + 1 >= p->window + p->end && !jsonpull_fill(p)) {
			(void)jsonpull_error(p, BERTH_EINVAL, "cut within a string");
			return false;
		}
		i += 2;
	}
	s = p->window + p->held;
	n = i;
	if (escapes && (n = jsonpull_unescape(s, i)) == SIZE_MAX) {
		(void)jsonpull_error(p, BERTH_EINVAL, "a bad escape in a string");
		return false;
	}
	if (high && !str_utf8_valid(s, n)) {
		(void)jsonpull_error(p, BERTH_EINVAL, "a string that is not UTF-8");
		return false;
	}
	s[n] = '\0';
	p->text = s;
	p->len = n;
	p->at = p->held + i + 1;
	p->held = SIZE_MAX;
	return true;
}

static bool
jsonpull_is_number(const char *s)
{
	if (*s == '-')
		s++;
	if (*s == '0')
		s++;
	else if (*s >= '1' && *s <= '9')
		s += strspn(s, "0123456789");
	else
		return false;
	if (*s == '.') {
		s++;
		if (*s < '0' || *s > '9')
			return false;
		s += strspn(s, "0123456789");
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		if (*s == '+' || *s == '-')
			s++;
		if (*s < '0' || *s > '9')
			return false;
		s += strspn(s, "0123456789");
	}
	return *s == '\0';
}

/* A number, or one of the three words: the bytes up to the next that cannot belong to one. */
static bool
jsonpull_read_word(struct jsonpull *p)
{
	size_t n = 0;

	for (;; n++) {
		char c;

		if (p->at == p->end && !jsonpull_fill(p))
			break;
		c = p->window[p->at];
		if (!str_is_alnum(c) && c != '-' && c != '+' && c != '.')
			break;
		if (n + 1 >= sizeof(p->number)) {
			(void)jsonpull_error(p, BERTH_EINVAL, "a number of over 63 characters");
			return false;
		}
		p->number[n] = c;
		p->at++;
	}
	p->number[n] = '\0';
	p->text = p->number;
	p->len = n;
	return p->code == BERTH_OK;
}

static enum jsonpull_type
jsonpull_word(struct jsonpull *p)
{
	uint64_t at = p->offset + p->at;

	if (!jsonpull_read_word(p))
		return p->type;
	if (jsonpull_is_number(p->text))
		return JSONPULL_NUMBER;
	if (strcmp(p->text, "true") == 0)
		return JSONPULL_TRUE;
	if (strcmp(p->text, "false") == 0)
		return JSONPULL_FALSE;
	if (strcmp(p->text, "null") == 0)
		return JSONPULL_NULL;
	p->at = (size_t)(at - p->offset);
	return jsonpull_error(p, BERTH_EINVAL, "no value of JSON");
}

static enum jsonpull_type
jsonpull_open(struct jsonpull *p, bool object)
{
	if (p->depth == JSONPULL_DEPTH_MAX)
		return jsonpull_error(p, BERTH_EINVAL, "nested deeper than 64");
	p->at++;
	p->objects = p->objects << 1 | object;
	p->depth++;
	p->want = JSONPULL_FIRST;
	return object ? JSONPULL_OBJECT : JSONPULL_ARRAY;
}

static enum jsonpull_type
jsonpull_shut(struct jsonpull *p, bool object)
{
	if (p->depth == 0 || (p->objects & 1) != object)
		return jsonpull_error(p, BERTH_EINVAL, "a closing bracket that opens nothing");
	p->at++;
	p->objects >>= 1;
	p->depth--;
	p->want = p->depth > 0 ? JSONPULL_AFTER : JSONPULL_DONE;
	return object ? JSONPULL_OBJECT_END : JSONPULL_ARRAY_END;
}

static enum jsonpull_type
jsonpull_value(struct jsonpull *p, int c)
{
	enum jsonpull_type t;

	if (c == '{' || c == '[')
		return jsonpull_open(p, c == '{');
	if (c == '"')
		t = jsonpull_read_string(p) ? JSONPULL_STRING : JSONPULL_ERROR;
	else
		t = jsonpull_word(p);
	p->want = p->depth > 0 ? JSONPULL_AFTER : JSONPULL_DONE;
	return t;
}

static enum jsonpull_type
jsonpull_read_key(struct jsonpull *p, int c)
{
	if (c != '"')
		return jsonpull_error(p, BERTH_EINVAL, "no key where one must be");
	if (!jsonpull_read_string(p))
		return JSONPULL_ERROR;
	p->want = JSONPULL_COLON;
	return JSONPULL_KEY;
}

/* Passes commas and colons. The first byte of the next token, or -1 with an error kept. */
static int
jsonpull_between(struct jsonpull *p)
{
	int c = jsonpull_peek(p);

	if (p->want == JSONPULL_AFTER && c == ',') {
		p->at++;
		c = jsonpull_peek(p);
		p->want = JSONPULL_VALUE;
		if (c == '}' || c == ']')
			return jsonpull_error(p, BERTH_EINVAL, "a comma before a closing bracket"),
			       -1;
	} else if (p->want == JSONPULL_AFTER && c >= 0 && c != '}' && c != ']') {
		return jsonpull_error(p, BERTH_EINVAL, "no comma between two values"), -1;
	} else if (p->want == JSONPULL_COLON) {
		if (c >= 0 && c != ':')
			return jsonpull_error(p, BERTH_EINVAL, "no colon behind a key"), -1;
		if (c == ':') {
			p->at++;
			p->want = JSONPULL_MEMBER;
		}
		c = jsonpull_peek(p);
	}
	if (c < 0 && p->code == BERTH_OK)
		return jsonpull_error(p, BERTH_EINVAL, "cut: the document goes on"), -1;
	return c;
}

enum jsonpull_type
jsonpull_next(struct jsonpull *p)
{
	int c;

	p->text = "";
	p->len = 0;
	if (p->code != BERTH_OK)
		return p->type = JSONPULL_ERROR;
	if (p->want == JSONPULL_DONE) {
		c = jsonpull_peek(p);
		if (p->code != BERTH_OK)
			return p->type = JSONPULL_ERROR;
		if (c >= 0)
			return p->type =
				   jsonpull_error(p, BERTH_EINVAL, "bytes behind the document");
		return p->type = JSONPULL_END;
	}
	c = jsonpull_between(p);
	if (c < 0)
		return p->type = JSONPULL_ERROR;
	if ((c == '}' || c == ']') && (p->want == JSONPULL_AFTER || p->want == JSONPULL_FIRST))
		return p->type = jsonpull_shut(p, c == '}');
	if (p->depth > 0 && (p->objects & 1) != 0 && p->want != JSONPULL_MEMBER)
		return p->type = jsonpull_read_key(p, c);
	return p->type = jsonpull_value(p, c);
}

bool
jsonpull_key(struct jsonpull *p)
{
	return jsonpull_next(p) == JSONPULL_KEY;
}

bool
jsonpull_more(struct jsonpull *p)
{
	bool inside = p->want == JSONPULL_AFTER || p->want == JSONPULL_FIRST;

	if (p->code == BERTH_OK && inside && jsonpull_peek(p) != ']')
		return p->code == BERTH_OK && !(p->eof && p->at == p->end);
	(void)jsonpull_next(p);
	return false;
}

/* After the token of a value that is not wanted: its rest. */
static bool
jsonpull_drop(struct jsonpull *p)
{
	if (p->type == JSONPULL_OBJECT || p->type == JSONPULL_ARRAY)
		jsonpull_leave(p);
	return false;
}

bool
jsonpull_object(struct jsonpull *p)
{
	return jsonpull_next(p) == JSONPULL_OBJECT || jsonpull_drop(p);
}

bool
jsonpull_array(struct jsonpull *p)
{
	return jsonpull_next(p) == JSONPULL_ARRAY || jsonpull_drop(p);
}

bool
jsonpull_text(struct jsonpull *p)
{
	enum jsonpull_type t = jsonpull_next(p);

	return t == JSONPULL_STRING || t == JSONPULL_NUMBER || jsonpull_drop(p);
}

void
jsonpull_skip(struct jsonpull *p)
{
	(void)jsonpull_next(p);
	(void)jsonpull_drop(p);
}

/* Passes bytes up to the bracket that closes what is open, at most what may be open below it. */
static bool
jsonpull_pass(struct jsonpull *p)
{
	struct jsonscan s = { .depth = 1 };

	for (;;) {
		size_t n = p->end - p->at;

		if (p->eof) /* the padding makes the last block whole */
			n += (JSONSCAN_BLOCK - n % JSONSCAN_BLOCK) % JSONSCAN_BLOCK;
		p->at += jsonscan_skip(&s, p->window + p->at, n);
		if (s.depth == 0 && p->at <= p->end)
			return true;
		if (s.deepest > JSONPULL_DEPTH_MAX - p->depth + JSONSCAN_BLOCK)
			return jsonpull_error(p, BERTH_EINVAL, "nested deeper than 64"), false;
		if (p->eof) {
			p->at = p->end;
			return jsonpull_error(p, BERTH_EINVAL, "cut: the document goes on"), false;
		}
		if (!jsonpull_fill(p) && p->code != BERTH_OK)
			return false;
	}
}

void
jsonpull_leave(struct jsonpull *p)
{
	p->text = "";
	p->len = 0;
	if (p->code != BERTH_OK || p->depth == 0 || !jsonpull_pass(p))
		return;
	p->type = (p->objects & 1) != 0 ? JSONPULL_OBJECT_END : JSONPULL_ARRAY_END;
	p->objects >>= 1;
	p->depth--;
	p->want = p->depth > 0 ? JSONPULL_AFTER : JSONPULL_DONE;
}

/* A container as a tree: its bytes are held while they are passed. */
static json_t *
jsonpull_container(struct jsonpull *p)
{
	json_error_t why;
	size_t start;
	json_t *v;

	p->held = p->at;
	(void)jsonpull_next(p);
	jsonpull_leave(p);
	start = p->held;
	p->held = SIZE_MAX;
	if (p->code != BERTH_OK)
		return NULL;
	v = json_loadb(p->window + start, p->at - start, JSON_REJECT_DUPLICATES, &why);
	if (v == NULL) {
		p->at = start;
		(void)jsonpull_error(p, BERTH_EINVAL, why.text);
	}
	return v;
}

json_t *
jsonpull_tree(struct jsonpull *p)
{
	json_error_t why;
	json_t *v = NULL;
	int c = p->code == BERTH_OK && p->want != JSONPULL_DONE ? jsonpull_between(p) : -1;

	if (c == '{' || c == '[')
		return jsonpull_container(p);
	switch (jsonpull_next(p)) {
	case JSONPULL_STRING:
		v = json_stringn(p->text, p->len);
		break;
	case JSONPULL_NUMBER:
		v = json_loadb(p->text, p->len, JSON_DECODE_ANY, &why);
		break;
	case JSONPULL_TRUE:
		return json_true();
	case JSONPULL_FALSE:
		return json_false();
	case JSONPULL_NULL:
		return json_null();
	case JSONPULL_END:
	case JSONPULL_ERROR:
	case JSONPULL_KEY:
	case JSONPULL_OBJECT:
	case JSONPULL_OBJECT_END:
	case JSONPULL_ARRAY:
	case JSONPULL_ARRAY_END:
		break;
	}
	if (v == NULL)
		(void)jsonpull_error(
		    p, BERTH_EINVAL, "no value where one must be, or a number out of range");
	return v;
}
