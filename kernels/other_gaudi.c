/* Intel Gaudi: hl-smi's query as CSV. */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/jlite.h"
#include "kernels/other.h"

#define GAUDI_FIELDS 8

/* "HL-225B" is a Gaudi2, "HL-325L" a Gaudi3; another name stays as it is. */
static void
gaudi_name(char *out, size_t n, const char *said)
{
	const char *model =
	    strncmp(said, "HL-20", 5) == 0 || strncmp(said, "HL-1", 4) == 0    ? "Gaudi1"
	    : strncmp(said, "HL-22", 5) == 0 || strncmp(said, "HL-28", 5) == 0 ? "Gaudi2"
	    : strncmp(said, "HL-3", 4) == 0                                    ? "Gaudi3"
									       : said;

	snprintf(out, n, "%.80s", model);
}

/* Cuts a line at its commas, blanks around each field taken away; the number of fields. */
static int
gaudi_split(char *line, char *field[GAUDI_FIELDS])
{
	int n = 0;

	for (char *p = line; p != NULL && n <= GAUDI_FIELDS;) {
		char *comma = strchr(p, ','), *end;

		if (comma != NULL)
			*comma = '\0';
		while (isspace((unsigned char)*p))
			p++;
		end = p + strlen(p);
		while (end > p && isspace((unsigned char)end[-1]))
			*--end = '\0';
		if (n < GAUDI_FIELDS)
			field[n] = p;
		n++;
		p = comma != NULL ? comma + 1 : NULL;
	}
	return n;
}

static void
gaudi_one(struct other *o, char *field[GAUDI_FIELDS])
{
	struct report *r = &o->run->report;
	const int gpu = o->n;
	struct report_gpu *g = other_gpu(o);
	char unit[16] = "";
	double v = 0;
	bool known;

	o->dies++;
	if (g == NULL)
		return;
	gaudi_name(g->name, sizeof(g->name), field[2]);
	snprintf(g->uuid, sizeof(g->uuid), "%.40s", field[1]);
	snprintf(g->bus, sizeof(g->bus), "%.20s", field[3]);
	snprintf(r->driver, sizeof(r->driver), "%.36s", field[4]);
	if (jlite_text_number(field[5], strlen(field[5]), &v, unit, sizeof(unit)) &&
	    strcmp(unit, "MiB") == 0)
		g->memory_mib = other_mib(v);
	if (!(g->memory_mib > 0))
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "hl-smi gives the memory as '%.30s'", field[5]);
	if (g->name[0] == '\0' || strcmp(g->name, "N/A") == 0)
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "hl-smi does not name the device");
	known = jlite_text_number(field[6], strlen(field[6]), &v, unit, sizeof(unit));
	other_temperature(o, gpu, known, v);
	if (jlite_text_number(field[7], strlen(field[7]), &v, unit, sizeof(unit)))
		report_health(
		    r, "ecc_uncorrected", gpu, v > 0 ? REPORT_FAILED : REPORT_OK, v, "%.0f", v);
	else
		report_health(r, "ecc_uncorrected", gpu, REPORT_UNKNOWN, (double)NAN, "not told");
}

bool
other_gaudi(struct other *o)
{
	static const char *const argv[] = { "hl-smi", "-Q",
		"index,uuid,name,bus_id,driver_version,memory.total,temperature.aip,"
		"ecc.errors.uncorrected.volatile.total",
		"-f", "csv,noheader", NULL };
	bool found = o->pci.n[OTHER_HABANA] > 0;
	struct tool_out out;

	if (!other_run(o, OTHER_HABANA, argv, &out)) {
		found = found || out.end == TOOL_HUNG;
	} else {
		for (char *line = out.text, *nl; line != NULL && *line != '\0'; line = nl) {
			char *field[GAUDI_FIELDS];
			int n;

			nl = strchr(line, '\n');
			if (nl != NULL)
				*nl++ = '\0';
			if (line[strspn(line, " \t\r")] == '\0')
				continue;
			n = gaudi_split(line, field);
			if (n == GAUDI_FIELDS && isdigit((unsigned char)field[0][0])) {
				gaudi_one(o, field);
			} else {
				other_unreadable(o, "hl-smi", "a line of another shape");
				found = true;
			}
		}
		other_count(o, OTHER_HABANA, "hl-smi");
		found = found || o->n > 0;
	}
	tool_free(&out);
	return found;
}
