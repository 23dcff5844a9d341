/* src/cmd/forecast_words.c - names of series in lists that commas cut.  Floor: cmd. */
#include "config.h"

#include <string.h>

#include "cmd/forecast.h"
#include "util/arena.h"
#include "util/glob.h"
#include "util/str.h"

/* Does the word name a series? valued: "NAME=SIZE", or a size alone, which is for all. */
static bool
words_fit(const char *word, bool valued, const struct series *rows, size_t n, struct arena *a)
{
	const char *eq = valued ? strrchr(word, '=') : NULL, *size = eq != NULL ? eq + 1 : word;
	const char *who = eq != NULL ? arena_strndup(a, word, (size_t)(eq - word)) : word;
	struct berth_err ignored;
	double x;

	if (valued && !str_eq(size, "quota") &&
	    str_to_double(size, 0, 1e18, &x, &ignored) != BERTH_OK)
		return false;
	if (valued && eq == NULL)
		return true;
	for (size_t i = 0; i < n; i++)
		if (str_eq(who, rows[i].name) || glob_match(who, rows[i].name))
			return true;
	return false;
}

struct opt_list
forecast_words(
    const struct opt_list *cut, bool valued, const struct series *rows, size_t n, struct arena *a)
{
	const char **v = arena_array(a, cut->n, sizeof(*v));
	size_t kept = 0;

	for (size_t i = 0; i < cut->n; i++) {
		bool alone = words_fit(cut->v[i], valued, rows, n, a) &&
			     (i + 1 == cut->n || words_fit(cut->v[i + 1], valued, rows, n, a));
		const char *word = cut->v[i];

		v[kept++] = word;
		for (size_t k = i + 1; k < cut->n && !alone; k++) {
			word = arena_printf(a, "%s,%s", word, cut->v[k]);
			if (!words_fit(word, valued, rows, n, a))
				continue;
			v[kept - 1] = word;
			i = k;
			break;
		}
	}
	return (struct opt_list){ v, kept };
}
