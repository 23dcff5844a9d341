/* Huawei Ascend: the table that npu-smi info prints; a device has a row of its own and one a chip.
 */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/jlite.h"
#include "kernels/other.h"

struct ascend_cells {
	const char *at[4];
	size_t n[4];
	int count;
};

static void
ascend_cut(const char *line, size_t len, struct ascend_cells *c)
{
	const char *p = line, *end = line + len;

	c->count = 0;
	while (p < end && c->count < 4) {
		const char *bar = memchr(p, '|', (size_t)(end - p)), *to = bar != NULL ? bar : end;

		if (p != line) { /* what stands before the first bar is no cell */
			c->at[c->count] = p;
			c->n[c->count++] = (size_t)(to - p);
		}
		p = to + 1;
	}
}

/* Cell as words into text, ended; the n-th word, NULL if there are fewer. */
static const char *
ascend_word(const struct ascend_cells *c, int cell, int nth, char *text, size_t size)
{
	const char *p = c->at[cell], *end = p + c->n[cell];

	for (;; nth--) {
		size_t n = 0;

		while (p < end && isspace((unsigned char)*p))
			p++;
		while (p + n < end && !isspace((unsigned char)p[n]))
			n++;
		if (n == 0)
			return NULL;
		if (nth == 0) {
			snprintf(text, size, "%.*s", (int)(n < size ? n : size - 1), p);
			return text;
		}
		p += n;
	}
}

static void
ascend_device(struct other *o, const struct ascend_cells *c)
{
	struct report *r = &o->run->report;
	const int gpu = o->n;
	struct report_gpu *g = other_gpu(o);
	char name[64] = "", health[24] = "", word[24] = "";
	double t = 0;
	bool known;

	o->dies++;
	if (g == NULL)
		return;
	(void)ascend_word(c, 0, 1, name, sizeof(name));
	snprintf(g->name, sizeof(g->name), "%s", name);
	(void)ascend_word(c, 1, 0, health, sizeof(health));
	report_health(r, "health", gpu,
	    strcmp(health, "OK") == 0        ? REPORT_OK
	    : strcmp(health, "Warning") == 0 ? REPORT_NOTE
					     : REPORT_FAILED,
	    (double)NAN, "npu-smi says %s", health[0] != '\0' ? health : "nothing");
	known = ascend_word(c, 2, 1, word, sizeof(word)) != NULL &&
		jlite_text_number(word, strlen(word), &t, NULL, 0);
	other_temperature(o, gpu, known, t);
}

/* The last "used / total" of the row: HBM where there is some, else the device's memory. */
static void
ascend_chip(struct other *o, const struct ascend_cells *c)
{
	struct report_gpu *g = &o->run->report.gpus[o->n - 1];
	char text[160];
	const char *slash;
	double v;

	snprintf(text, sizeof(text), "%.*s",
	    (int)(c->n[2] < sizeof(text) ? c->n[2] : sizeof(text) - 1), c->at[2]);
	slash = strrchr(text, '/');
	if (slash != NULL && jlite_text_number(slash + 1, strlen(slash + 1), &v, NULL, 0))
		g->memory_mib = other_mib(v);
	if (g->bus[0] == '\0')
		(void)ascend_word(c, 1, 0, g->bus, sizeof(g->bus));
}

/* The two dies of a 910C show as two devices of half its memory. */
static void
ascend_dies(struct other *o)
{
	struct report_gpu *g = o->run->report.gpus;

	for (int i = 0; i < o->n; i++)
		if (strcmp(g[i].name, "Ascend910") == 0 && g[i].memory_mib > 60000)
			snprintf(g[i].name, sizeof(g[i].name), "910C (one die)");
	for (int i = 0; i < o->n; i++)
		if (!(g[i].memory_mib > 0))
			report_check(&o->run->report, "identify", i, REPORT_FAILED, (double)NAN,
			    "npu-smi does not tell the memory");
}

static void
ascend_read(struct other *o, const char *text)
{
	bool table = false, chips = false;
	int want_chip = 0;

	for (const char *line = text, *nl; line != NULL && *line != '\0';
	     line = nl != NULL ? nl + 1 : NULL) {
		size_t len;
		struct ascend_cells c;
		char word[24], second[24];
		const char *version;

		nl = strchr(line, '\n');
		len = nl != NULL ? (size_t)(nl - line) : strlen(line);
		version = line[0] == '|' ? strstr(line, "Version:") : NULL;
		if (version != NULL && version < line + len) {
			version += strlen("Version:");
			version += strspn(version, " ");
			snprintf(o->run->report.driver, sizeof(o->run->report.driver), "%.*s",
			    (int)strcspn(version, " |\n"), version);
		}
		ascend_cut(line, len, &c);
		if (line[0] != '|' || c.count < 3 ||
		    ascend_word(&c, 0, 0, word, sizeof(word)) == NULL)
			continue;
		if (strcmp(word, "NPU") == 0) {
			/* the first such heading is that of the devices, the next that of the
			 * processes */
			chips = !table;
			table = true;
		} else if (chips && isdigit((unsigned char)word[0]) && want_chip == 0) {
			if (ascend_word(&c, 0, 1, second, sizeof(second)) == NULL) {
				other_unreadable(o, "npu-smi", "a device without a name");
				return;
			}
			ascend_device(o, &c);
			want_chip = 1;
		} else if (chips && isdigit((unsigned char)word[0])) {
			if (o->n > 0)
				ascend_chip(o, &c);
			want_chip = 0;
		}
	}
	if (!table)
		other_unreadable(o, "npu-smi", "no table");
	else if (want_chip)
		other_unreadable(o, "npu-smi", "cut off");
}

bool
other_ascend(struct other *o)
{
	static const char *const argv[] = { "npu-smi", "info", NULL };
	bool found = o->pci.n[OTHER_HUAWEI] > 0;
	struct tool_out out;

	if (other_run(o, OTHER_HUAWEI, argv, &out)) {
		ascend_read(o, out.text);
		ascend_dies(o);
		other_count(o, OTHER_HUAWEI, "npu-smi");
		found = true;
	} else {
		found = found || out.end == TOOL_HUNG;
	}
	tool_free(&out);
	return found;
}
