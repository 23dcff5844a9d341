/* providers/inifile.h - settings by section, as the tools of some clouds keep them in the user's
 * home.  Floor: providers. */
#ifndef BERTH_PROVIDERS_INIFILE_H
#define BERTH_PROVIDERS_INIFILE_H

#include <stdbool.h>

#include "util/arena.h"
#include "util/vec.h"

struct inifile_row {
	const char *section, *key, *value;
};
struct inifile {
	VEC(struct inifile_row) rows;
}; /* start with { 0 } */

/*
 * Adds the rows of a file (its text) to ini. Comments, blanks around, a byte order mark, CRLF,
 * nested settings; a line that is neither a section nor key = value is passed over, as its owner's
 * tools do. Keys become lower case.
 */
void inifile_read(struct inifile *ini, struct arena *a, const char *text);
const char *inifile_get(const struct inifile *ini, const char *section,
    const char *key); /* NULL: not there; the last counts */
bool inifile_has(const struct inifile *ini, const char *section);
/* Overwrites the values of keys that begin with prefix, for they may be secrets. */
void inifile_wipe(struct inifile *ini, const char *prefix);

#endif
