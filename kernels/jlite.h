/* kernels/jlite.h - a small reader of the JSON that vendors' tools print; hostile bytes, nothing
 * trusted. */
#ifndef BERTH_KERNELS_JLITE_H
#define BERTH_KERNELS_JLITE_H

#include <stdbool.h>
#include <stddef.h>

#define JLITE_NODES 65536
#define JLITE_DEPTH 32

enum jlite_type { JLITE_NULL, JLITE_BOOL, JLITE_NUMBER, JLITE_STRING, JLITE_ARRAY, JLITE_OBJECT };

struct jlite_node {
	enum jlite_type type;
	const char *s; /* string without quotes, or number, as written; not ended */
	size_t n;
	const char *key; /* of a member, as written */
	size_t key_n;
	int first, next; /* child, sibling; -1 none */
};

struct jlite {
	struct jlite_node *nodes;
	int n;
};

/* Reads one value with nothing but blanks behind; node 0 is the root. false: no JSON (or too
 * large), *why says what. */
bool jlite_parse(struct jlite *j, const char *text, size_t len, const char **why);
void jlite_free(struct jlite *j);
/* Member of an object, or -1; node -1 has none. */
int jlite_get(const struct jlite *j, int node, const char *key);
/*
 * A number: one as such, one in a string with or without a unit behind ("512 MB"), or {"value": ..,
 * "unit": ..}. unit [unit_n]  receives the unit, "" if none. false: none ("N/A"), negative or not
 * finite.
 */
bool jlite_number(const struct jlite *j, int node, double *out, char *unit, size_t unit_n);
/* Copies a string, cut to fit; false if node is none. Escapes are kept as they are written. */
bool jlite_string(const struct jlite *j, int node, char *out, size_t n);
/* The leading number of text and what follows as its unit; false if there is none. */
bool jlite_text_number(const char *text, size_t len, double *out, char *unit, size_t unit_n);

#endif
