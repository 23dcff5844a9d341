/* src/util/xml.h - reading small XML answers: strict, capped, without DTDs.  Floor: util. */
#ifndef BERTH_UTIL_XML_H
#define BERTH_UTIL_XML_H

#include <stddef.h>

#include "util/arena.h"
#include "util/err.h"

#define XML_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define XML_DEPTH_MAX 64

/*
 * An element. Attributes and comments are read over; a prefix ("ns:") of a name is left out. text
 * is what stands directly in the element, entities resolved, blanks around it taken off; never
 * NULL. All in the arena.
 */
struct xml {
	const char *name, *text;
	const struct xml *child, *next; /* first child, next sibling; NULL: none */
};

/*
 * Outside bytes -> tree; name (a URL) stands in messages. Refused (BERTH_EINVAL, where =
 * "name:line"): what is not well formed, bytes behind the root, a document type (and so every
 * entity but the five of XML and numbers), bad UTF-8, control characters, deeper than
 * XML_DEPTH_MAX, over XML_BYTES_MAX. Memory is a small multiple of n.
 */
BERTH_MUST_CHECK enum berth_code xml_parse(struct arena *a, const char *bytes, size_t n,
    const char *name, const struct xml **root_out, struct berth_err *err);

/* The first element at "a/b/c" below x; x NULL or none there: NULL. */
const struct xml *xml_get(const struct xml *x, const char *path);
const char *xml_text(const struct xml *x, const char *path); /* "" if there is none */
/* The first child so named; the next sibling so named. For lists: xml_first(x, "item"). */
const struct xml *xml_first(const struct xml *x, const char *name);
const struct xml *xml_next(const struct xml *x, const char *name);

#endif
