/* src/util/jsonpull.h - reading JSON of any size token by token.  Floor: util. */
#ifndef BERTH_UTIL_JSONPULL_H
#define BERTH_UTIL_JSONPULL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/err.h"
#include "util/jsonscan.h"

#define JSONPULL_DEPTH_MAX 64 /* containers open at once */
#define JSONPULL_TOKEN_MAX                                                                         \
	((size_t)16 * 1024 * 1024) /* bytes of one string, or of one jsonpull_tree() */

enum jsonpull_type {
	JSONPULL_END,   /* of the document: nothing but blanks is behind it */
	JSONPULL_ERROR, /* and ever after; jsonpull_close() says what it was */
	JSONPULL_OBJECT,
	JSONPULL_OBJECT_END,
	JSONPULL_ARRAY,
	JSONPULL_ARRAY_END,
	JSONPULL_KEY,
	JSONPULL_STRING,
	JSONPULL_NUMBER,
	JSONPULL_TRUE,
	JSONPULL_FALSE,
	JSONPULL_NULL
};

/*
 * A reader over a file or bytes; memory is one window of some 256 KiB, more only while a longer
 * token is read. An error is kept: every later call answers JSONPULL_ERROR or false, so that a
 * parse may check once, at the end.
 *
 *	jsonpull_file(&p, resp->file, "prices");
 *	if (jsonpull_object(&p))
 *		while (jsonpull_key(&p))
 *			if (jsonpull_is(&p, "products"))
 *				products(&p);
 *			else
 *				jsonpull_skip(&p);
 *	rc = jsonpull_close(&p, err);
 *
 * Tokens are checked whole: grammar, UTF-8, escapes, no NUL. What jsonpull_skip() passes is only
 * counted through to its closing bracket, at the speed of memory: that it is JSON inside is not
 * said. Keys that come twice are not seen.
 */
struct jsonpull {
	enum jsonpull_type type; /* of the last token */
	/* KEY, STRING (escapes resolved), NUMBER (as written), else ""; a NUL behind; until the
	 * next call */
	const char *text;
	size_t len;
	int depth; /* containers open */

	/* private */
	enum {
		JSONPULL_VALUE,
		JSONPULL_FIRST,
		JSONPULL_AFTER,
		JSONPULL_COLON,
		JSONPULL_MEMBER,
		JSONPULL_DONE
	} want;
	uint64_t objects; /* a bit a level: 1 is an object */
	const char *name;
	FILE *file;
	const char *bytes; /* not in the window yet, where there is no file */
	size_t n_bytes;
	char *window;
	size_t size;     /* bytes of it, without the padding */
	size_t at, end;  /* where reading is, where content ends */
	uint64_t offset; /* of the window's first byte in the whole */
	size_t held;     /* first byte of the window that must stay */
	bool eof;
	enum berth_code code;
	char why[160];
	uint64_t why_at;
	char number[64];
};

/* Starts; name (borrowed) stands in messages. A file is read from where it is, and stays the
 * caller's. A byte order mark at the start is skipped. */
void jsonpull_file(struct jsonpull *p, FILE *file, const char *name);
void jsonpull_bytes(struct jsonpull *p, const char *bytes, size_t n, const char *name);
/*
 * Ends, at any point. BERTH_OK or the first error: BERTH_EINVAL (what is no JSON, a limit, a cut
 * document; where = "name:byte N"), BERTH_EIO, BERTH_ENOMEM. What stands behind the point of ending
 * is not looked at: a caller that needs the document to be whole reads up to JSONPULL_END.
 */
BERTH_MUST_CHECK enum berth_code jsonpull_close(struct jsonpull *p, struct berth_err *err);

enum jsonpull_type jsonpull_next(struct jsonpull *p);

/* In an object: the next key (true, text is the key), or its end, which is read (false). */
bool jsonpull_key(struct jsonpull *p);
/* In an array: another value comes (true; nothing of it is read), or its end, which is read
 * (false). */
bool jsonpull_more(struct jsonpull *p);
/* The text of the last token is s. */
static inline bool
jsonpull_is(const struct jsonpull *p, const char *s)
{
	return p->text[0] == s[0] && strcmp(p->text, s) == 0;
}

/* Reads the start of the next value if it is of this kind; any other value is skipped (false). */
bool jsonpull_object(struct jsonpull *p);
bool jsonpull_array(struct jsonpull *p);
/* Reads the next value: true for a string or a number, in text; any other value is skipped (false).
 */
bool jsonpull_text(struct jsonpull *p);

/* Passes the next value, at any size. */
void jsonpull_skip(struct jsonpull *p);
/* Passes what is left of the innermost open container, and its end. */
void jsonpull_leave(struct jsonpull *p);
/* The next value as a tree, for what is small; the caller's to json_decref(). NULL: an error is
 * kept. */
json_t *jsonpull_tree(struct jsonpull *p);
/* Keeps an error of the caller's own at this place, as BERTH_EINVAL; the first one counts. */
void jsonpull_fail(struct jsonpull *p, const char *fmt, ...) BERTH_PRINTF(2, 3);

#endif
