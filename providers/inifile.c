#include <string.h>

#include "providers/inifile.h"
#include "util/arena.h"
#include "util/str.h"

/* " # ..." or " ; ..." behind a value: keys and names hold no blank. */
static char *
inifile_value(struct arena *a, const char *s)
{
	char *v = str_trim(a, s);

	for (char *p = v; *p != '\0'; p++)
		if (str_is_space(*p) && (p[1] == '#' || p[1] == ';')) {
			*p = '\0';
			return str_trim(a, v);
		}
	return v;
}

void
inifile_read(struct inifile *ini, struct arena *a, const char *text)
{
	const char *section = NULL;

	if (str_starts(text, "\xef\xbb\xbf"))
		text += 3;
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		char *line = arena_strndup(a, text, n), *s = str_trim(a, line), *eq;

		text += n + (text[n] == '\n');
		if (s[0] == '#' || s[0] == ';' || s[0] == '\0')
			continue;
		if (s[0] == '[') {
			s[strcspn(s, "]")] = '\0';
			section = str_trim(a, s + 1);
			VEC_PUSH(a, &ini->rows,
			    ((struct inifile_row){
				section, "", "" })); /* it is there, though it be empty */
			continue;
		}
		eq = strchr(s, '=');
		if (section == NULL || eq == NULL ||
		    str_is_space(line[0])) /* indented: a setting within a setting */
			continue;
		*eq = '\0';
		VEC_PUSH(a, &ini->rows,
		    ((struct inifile_row){
			section, str_lower(a, str_trim(a, s)), inifile_value(a, eq + 1) }));
	}
}

const char *
inifile_get(const struct inifile *ini, const char *section, const char *key)
{
	for (size_t i = ini->rows.n; i > 0; i--)
		if (str_eq(ini->rows.v[i - 1].section, section) &&
		    str_eq(ini->rows.v[i - 1].key, key))
			return ini->rows.v[i - 1].value;
	return NULL;
}

bool
inifile_has(const struct inifile *ini, const char *section)
{
	for (size_t i = 0; i < ini->rows.n; i++)
		if (str_eq(ini->rows.v[i].section, section))
			return true;
	return false;
}

void
inifile_wipe(struct inifile *ini, const char *prefix)
{
	for (size_t i = 0; i < ini->rows.n; i++)
		if (str_starts(ini->rows.v[i].key, prefix))
			explicit_bzero(
			    (char *)(uintptr_t)ini->rows.v[i].value, strlen(ini->rows.v[i].value));
}
