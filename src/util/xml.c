#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/str.h"
#include "util/xml.h"

struct xml_reader {
	struct arena *a;
	const char *start, *p, *end;
	const char *name;
	struct berth_err *err;
};

static enum berth_code
xml_fail(const struct xml_reader *r, const char *why)
{
	int line = 1;

	for (const char *s = r->start; s < r->p; s++)
		line += *s == '\n';
	err_set(r->err, BERTH_EINVAL, "XML: %s", why);
	err_at(r->err, "%s:%d", r->name, line);
	return BERTH_EINVAL;
}

static bool
xml_at(const struct xml_reader *r, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(r->end - r->p) >= n && memcmp(r->p, s, n) == 0;
}

static void
xml_blanks(struct xml_reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

/* Moves behind the next s. */
static enum berth_code
xml_behind(struct xml_reader *r, const char *s, const char *why)
{
	const char *at = memmem(r->p, (size_t)(r->end - r->p), s, strlen(s));

	if (at == NULL)
		return xml_fail(r, why);
	r->p = at + strlen(s);
	return BERTH_OK;
}

static bool
xml_name_char(char c)
{
	return str_is_alnum(c) || c == '_' || c == '-' || c == '.' || c == ':' ||
	       (unsigned char)c >= 0x80;
}

static enum berth_code
xml_name(struct xml_reader *r, const char **from_out, size_t *n_out)
{
	const char *from = r->p;

	while (r->p < r->end && xml_name_char(*r->p))
		r->p++;
	*from_out = from;
	*n_out = (size_t)(r->p - from);
	if (*n_out == 0 || str_is_digit(*from) || *from == '-' || *from == '.' || *from == ':' ||
	    from[*n_out - 1] == ':')
		return xml_fail(r, "a name is missing");
	return BERTH_OK;
}

static size_t
xml_utf8(char *dst, uint32_t c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i > 1; i--) {
		dst[i - 1] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	dst[0] = (char)(lead[n] | c);
	return n;
}

/* "&amp;" "&#65;" "&#x41;" at p, to dst; the entity is never shorter than its text. */
static enum berth_code
xml_entity(struct xml_reader *r, char **dst)
{
	static const struct {
		const char *text;
		char c;
	} known[] = {
		{ "&amp;", '&' },
		{ "&lt;", '<' },
		{ "&gt;", '>' },
		{ "&quot;", '"' },
		{ "&apos;", '\'' },
	};
	uint32_t c = 0;
	size_t digits = 0;
	bool hex;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (xml_at(r, known[i].text)) {
			*(*dst)++ = known[i].c;
			r->p += strlen(known[i].text);
			return BERTH_OK;
		}
	if (!xml_at(r, "&#"))
		return xml_fail(r, "an entity that nobody defined");
	r->p += 2;
	hex = r->p < r->end && *r->p == 'x';
	for (r->p += hex; r->p < r->end && *r->p != ';' && digits < 8; r->p++, digits++) {
		char l = str_lower_char(*r->p);

		if (!str_is_digit(l) && !(hex && l >= 'a' && l <= 'f'))
			break;
		c = c * (hex ? 16 : 10) + (uint32_t)(str_is_digit(l) ? l - '0' : l - 'a' + 10);
	}
	if (digits == 0 || r->p == r->end || *r->p != ';' || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000) || (c < 0x20 && c != '\t' && c != '\n' && c != '\r'))
		return xml_fail(r, "a character reference that is none");
	r->p++;
	*dst += xml_utf8(*dst, c);
	return BERTH_OK;
}

/* name="value": read over, but read. */
static enum berth_code
xml_attributes(struct xml_reader *r)
{
	const char *from;
	size_t n;
	char quote;
	enum berth_code rc;

	for (;;) {
		const char *before = r->p;

		xml_blanks(r);
		if (r->p == r->end || *r->p == '>' || *r->p == '/' || *r->p == '?')
			return BERTH_OK;
		if (r->p == before)
			return xml_fail(r, "no blank before an attribute");
		if ((rc = xml_name(r, &from, &n)) != BERTH_OK)
			return rc;
		xml_blanks(r);
		if (r->p == r->end || *r->p++ != '=')
			return xml_fail(r, "an attribute without a value");
		xml_blanks(r);
		if (r->p == r->end || (*r->p != '"' && *r->p != '\''))
			return xml_fail(r, "an attribute's value without quotes");
		quote = *r->p++;
		while (r->p < r->end && *r->p != quote && *r->p != '<')
			r->p++;
		if (r->p == r->end || *r->p != quote)
			return xml_fail(r, "an attribute's value does not end");
		r->p++;
	}
}

/* Comments, processing instructions, blanks: what may stand around the root. */
static enum berth_code
xml_misc(struct xml_reader *r)
{
	enum berth_code rc = BERTH_OK;

	for (;;) {
		xml_blanks(r);
		if (xml_at(r, "<!--")) {
			r->p += 4;
			rc = xml_behind(r, "-->", "a comment does not end");
		} else if (xml_at(r, "<?")) {
			rc = xml_behind(r, "?>", "a processing instruction does not end");
		} else {
			return rc;
		}
		if (rc != BERTH_OK)
			return rc;
	}
}

/* Text up to the next tag, appended to dst. */
static enum berth_code
xml_chars(struct xml_reader *r, char **dst)
{
	enum berth_code rc = BERTH_OK;

	while (rc == BERTH_OK && r->p < r->end && *r->p != '<') {
		if (*r->p == '&')
			rc = xml_entity(r, dst);
		else
			*(*dst)++ = *r->p++;
	}
	return rc;
}

static enum berth_code
xml_cdata(struct xml_reader *r, char **dst)
{
	const char *from = r->p + strlen("<![CDATA[");
	enum berth_code rc;

	r->p = from;
	if ((rc = xml_behind(r, "]]>", "a CDATA section does not end")) != BERTH_OK)
		return rc;
	memcpy(*dst, from, (size_t)(r->p - 3 - from));
	*dst += r->p - 3 - from;
	return BERTH_OK;
}

static enum berth_code xml_element(
    struct xml_reader *r, int depth, char *text, const struct xml **out);

/*
 * Content up to "</". The text of an element is gathered at dst, in one buffer for the whole
 * document as long as the document: what is gathered is never longer than what was read, and the
 * children's part lies behind ours.
 */
static enum berth_code
xml_content(struct xml_reader *r, struct xml *x, int depth, char *dst)
{
	const struct xml **tail = &x->child;
	char *from = dst;
	enum berth_code rc = BERTH_OK;

	while (rc == BERTH_OK && r->p < r->end && !xml_at(r, "</")) {
		if (xml_at(r, "<!--")) {
			rc = xml_misc(r);
		} else if (xml_at(r, "<![CDATA[")) {
			rc = xml_cdata(r, &dst);
		} else if (xml_at(r, "<!") || xml_at(r, "<?")) {
			return xml_fail(r, "a declaration within an element");
		} else if (*r->p == '<') {
			rc = xml_element(r, depth + 1, dst, tail);
			if (rc == BERTH_OK)
				tail = &((struct xml *)(uintptr_t)*tail)->next;
		} else {
			rc = xml_chars(r, &dst);
		}
	}
	while (from < dst && str_is_space(*from))
		from++;
	while (dst > from && str_is_space(dst[-1]))
		dst--;
	if (rc == BERTH_OK && dst > from)
		x->text = arena_strndup(r->a, from, (size_t)(dst - from));
	return rc;
}

static enum berth_code
xml_element(struct xml_reader *r, int depth, char *text, const struct xml **out)
{
	struct xml *x;
	const char *from, *close, *colon;
	size_t n, m;
	enum berth_code rc;

	if (depth > XML_DEPTH_MAX)
		return xml_fail(r, "nested too deep");
	r->p++;
	if ((rc = xml_name(r, &from, &n)) != BERTH_OK || (rc = xml_attributes(r)) != BERTH_OK)
		return rc;
	x = arena_new_of(r->a, struct xml);
	colon = memchr(from, ':', n);
	x->name = colon != NULL ? arena_strndup(r->a, colon + 1, n - (size_t)(colon + 1 - from))
				: arena_strndup(r->a, from, n);
	x->text = "";
	*out = x;
	if (xml_at(r, "/>")) {
		r->p += 2;
		return BERTH_OK;
	}
	if (r->p == r->end || *r->p++ != '>')
		return xml_fail(r, "a tag does not end");
	if ((rc = xml_content(r, x, depth, text)) != BERTH_OK)
		return rc;
	if (!xml_at(r, "</"))
		return xml_fail(r, "cut off within an element");
	r->p += 2;
	if ((rc = xml_name(r, &close, &m)) != BERTH_OK)
		return rc;
	if (m != n || memcmp(from, close, n) != 0)
		return xml_fail(r, "an end tag of another element");
	xml_blanks(r);
	if (r->p == r->end || *r->p++ != '>')
		return xml_fail(r, "an end tag does not end");
	return BERTH_OK;
}

static bool
xml_clean(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 && s[i] != '\t' && s[i] != '\n' && s[i] != '\r')
			return false;
	return str_utf8_valid(s, n);
}

enum berth_code
xml_parse(struct arena *a, const char *bytes, size_t n, const char *name,
    const struct xml **root_out, struct berth_err *err)
{
	struct xml_reader r = { a, bytes, bytes, bytes + n, name, err };
	const struct xml *root = NULL;
	enum berth_code rc;

	if (n > XML_BYTES_MAX)
		return xml_fail(&r, "too long");
	if (!xml_clean(bytes, n))
		return xml_fail(&r, "not UTF-8, or a control character in it");
	if (xml_at(&r, "\xef\xbb\xbf"))
		r.p += 3;
	if ((rc = xml_misc(&r)) != BERTH_OK)
		return rc;
	if (xml_at(&r, "<!"))
		return xml_fail(&r, "a document type is not read");
	if (r.p == r.end || *r.p != '<')
		return xml_fail(&r, "no element");
	if ((rc = xml_element(&r, 1, arena_alloc(a, n + 1), &root)) != BERTH_OK ||
	    (rc = xml_misc(&r)) != BERTH_OK)
		return rc;
	if (r.p != r.end)
		return xml_fail(&r, "something behind the root element");
	*root_out = root;
	return BERTH_OK;
}

static bool
xml_named(const struct xml *x, const char *name, size_t n)
{
	return strlen(x->name) == n && memcmp(x->name, name, n) == 0;
}

const struct xml *
xml_get(const struct xml *x, const char *path)
{
	while (x != NULL && *path != '\0') {
		size_t n = strcspn(path, "/");

		for (x = x->child; x != NULL && !xml_named(x, path, n); x = x->next)
			continue;
		path += n + (path[n] == '/');
	}
	return x;
}

const char *
xml_text(const struct xml *x, const char *path)
{
	x = xml_get(x, path);
	return x != NULL ? x->text : "";
}

const struct xml *
xml_first(const struct xml *x, const char *name)
{
	return xml_get(x, name);
}

const struct xml *
xml_next(const struct xml *x, const char *name)
{
	size_t n = strlen(name);

	do
		x = x->next;
	while (x != NULL && !xml_named(x, name, n));
	return x;
}
