/* AMD: amd-smi static and metric, else rocm-smi; both as JSON. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/jlite.h"
#include "kernels/other.h"

/* MiB of a size with its unit; amd-smi says MB and GB and means MiB and GiB. */
static double
amd_mib(double v, const char *unit)
{
	return strcmp(unit, "GB") == 0 || strcmp(unit, "GiB") == 0   ? v * 1024
	       : strcmp(unit, "KB") == 0                             ? v / 1024
	       : strcmp(unit, "B") == 0                              ? v / 1048576
	       : strcmp(unit, "MB") == 0 || strcmp(unit, "MiB") == 0 ? v
								     : (double)NAN;
}

/* "Aqua Vanjaram [Instinct MI300X]" and "AMD Instinct MI300X VF" are both an MI300X. */
static void
amd_name(char *out, size_t n, const char *said)
{
	const char *from = strchr(said, '['), *to;
	size_t len;

	from = from != NULL ? from + 1 : said;
	to = strchr(from, ']');
	len = to != NULL ? (size_t)(to - from) : strlen(from);
	if (len > 3 && strncmp(from + len - 3, " VF", 3) == 0)
		len -= 3;
	snprintf(out, n, "%s%.*s", strncmp(from, "AMD", 3) == 0 ? "" : "AMD ",
	    (int)(len < n ? len : n - 1), from);
}

/* The list of devices: bare, or as "gpu_data" since ROCm 7. */
static int
amd_first(const struct jlite *j)
{
	int list = jlite_get(j, 0, "gpu_data");

	if (list < 0)
		list = 0;
	return j->nodes[list].type == JLITE_ARRAY         ? j->nodes[list].first
	       : list == 0 && jlite_get(j, 0, "gpu") >= 0 ? 0
							  : -1;
}

static void
amd_static_one(struct other *o, const struct jlite *j, int node)
{
	struct report *r = &o->run->report;
	const int gpu = o->n, asic = jlite_get(j, node, "asic");
	struct report_gpu *g = other_gpu(o);
	char said[96] = "", unit[16], id[3][16] = { "", "", "" };
	double v;

	o->dies++;
	if (g == NULL)
		return;
	if (!jlite_string(j, jlite_get(j, asic, "market_name"), said, sizeof(said)) ||
	    strcmp(said, "N/A") == 0)
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "amd-smi does not name the device");
	else
		amd_name(g->name, sizeof(g->name), said);
	(void)jlite_string(j, jlite_get(j, asic, "asic_serial"), g->uuid, sizeof(g->uuid));
	(void)jlite_string(j, jlite_get(j, asic, "target_graphics_version"), g->cc, sizeof(g->cc));
	(void)jlite_string(j, jlite_get(j, asic, "device_id"), id[0], sizeof(id[0]));
	(void)jlite_string(j, jlite_get(j, asic, "subvendor_id"), id[1], sizeof(id[1]));
	(void)jlite_string(j, jlite_get(j, asic, "subsystem_id"), id[2], sizeof(id[2]));
	if (strncmp(id[0], "0x", 2) == 0 && strncmp(id[1], "0x", 2) == 0 &&
	    strncmp(id[2], "0x", 2) == 0)
		snprintf(
		    g->pci, sizeof(g->pci), "1002:%.8s:%.8s:%.8s", id[0] + 2, id[1] + 2, id[2] + 2);
	if (jlite_number(j, jlite_get(j, asic, "num_compute_units"), &v, NULL, 0) && v > 0 &&
	    v < 100000)
		g->sms = (int)v;
	if (jlite_number(
		j, jlite_get(j, jlite_get(j, node, "vram"), "size"), &v, unit, sizeof(unit)))
		g->memory_mib = other_mib(amd_mib(v, unit));
	if (!(g->memory_mib > 0))
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "amd-smi does not tell the memory");
	if (jlite_number(j, jlite_get(j, jlite_get(j, node, "limit"), "max_power"), &v, NULL, 0))
		g->power_limit_w = v;
	(void)jlite_string(
	    j, jlite_get(j, jlite_get(j, node, "driver"), "version"), r->driver, sizeof(r->driver));
	if (r->driver[0] == '\0')
		(void)jlite_string(j, jlite_get(j, jlite_get(j, node, "driver"), "driver_version"),
		    r->driver, sizeof(r->driver));
}

/* A count that is bad when it is not zero, or worth a note. */
static void
amd_count(struct other *o, const char *name, int gpu, const struct jlite *j, int node,
    enum report_status bad)
{
	double v;

	if (!jlite_number(j, node, &v, NULL, 0))
		report_health(&o->run->report, name, gpu, REPORT_UNKNOWN, (double)NAN, "not told");
	else
		report_health(&o->run->report, name, gpu, v > 0 ? bad : REPORT_OK, v, "%.0f", v);
}

static void
amd_metric_one(struct other *o, const struct jlite *j, int node, int gpu)
{
	const int ecc = jlite_get(j, node, "ecc"), t = jlite_get(j, node, "temperature");
	bool known;
	double c = 0;

	amd_count(o, "ecc_uncorrected", gpu, j, jlite_get(j, ecc, "total_uncorrectable_count"),
	    REPORT_FAILED);
	amd_count(
	    o, "ecc_deferred", gpu, j, jlite_get(j, ecc, "total_deferred_count"), REPORT_NOTE);
	amd_count(
	    o, "ecc_corrected", gpu, j, jlite_get(j, ecc, "total_correctable_count"), REPORT_NOTE);
	known = jlite_number(j, jlite_get(j, t, "hotspot"), &c, NULL, 0) ||
		jlite_number(j, jlite_get(j, t, "edge"), &c, NULL, 0);
	other_temperature(o, gpu, known, c);
	if (jlite_number(j, jlite_get(j, t, "mem"), &c, NULL, 0) && c >= 100)
		report_health(
		    &o->run->report, "memory_temperature", gpu, REPORT_NOTE, c, "%g C", c);
}

static void
amd_metric(struct other *o)
{
	static const char *const argv[] = { "amd-smi", "metric", "--json", NULL };
	const char *why = "";
	struct tool_out out;
	struct jlite j;
	int gpu = 0;

	if (!other_run(o, OTHER_AMD, argv, &out)) {
		if (o->pci.n[OTHER_AMD] == 0 && out.end == TOOL_FAILED)
			report_check(&o->run->report, "health", -1, REPORT_FAILED, (double)NAN,
			    "%s", out.why);
	} else if (!jlite_parse(&j, out.text, out.len, &why)) {
		other_unreadable(o, "amd-smi metric", why);
	} else {
		for (int i = amd_first(&j); i >= 0 && gpu < o->n; i = j.nodes[i].next, gpu++)
			if (jlite_get(&j, i, "gpu") >= 0)
				amd_metric_one(o, &j, i, gpu);
		if (gpu < o->n)
			report_check(&o->run->report, "health", gpu, REPORT_FAILED, gpu,
			    "amd-smi metric tells of %d of %d devices", gpu, o->n);
		jlite_free(&j);
	}
	tool_free(&out);
}

/* The two dies of an MI250 show as two devices of half its memory; it is sold as one. */
static void
amd_dies(struct other *o)
{
	struct report_gpu *g = o->run->report.gpus;
	int n = 0;

	for (int i = 0; i < o->n; i++) {
		if (strstr(g[i].name, "MI250") == NULL || !(g[i].memory_mib < 70000) ||
		    o->n % 2 != 0)
			return;
	}
	for (int i = 0; i < o->n; i += 2, n++) {
		g[n] = g[i];
		g[n].memory_mib = g[i].memory_mib + g[i + 1].memory_mib;
		g[n].sms = g[i].sms > 0 && g[i + 1].sms > 0 ? g[i].sms + g[i + 1].sms : -1;
	}
	for (int i = n; i < o->n; i++)
		g[i].present = false;
	/* health was entered a die */
	for (size_t i = 0; i < o->run->report.n_health; i++)
		if (o->run->report.health[i].gpu >= 0)
			o->run->report.health[i].gpu /= 2;
	for (size_t i = 0; i < o->run->report.n_checks; i++)
		if (o->run->report.checks[i].gpu >= 0)
			o->run->report.checks[i].gpu /= 2;
	o->n = n;
}

static void
amd_rocm_one(struct other *o, const struct jlite *j, int node)
{
	struct report *r = &o->run->report;
	const int gpu = o->n;
	struct report_gpu *g = other_gpu(o);
	char said[96] = "";
	double v = 0;

	o->dies++;
	if (g == NULL)
		return;
	if (jlite_string(j, jlite_get(j, node, "Card Series"), said, sizeof(said)) ||
	    jlite_string(j, jlite_get(j, node, "Card series"), said, sizeof(said)))
		amd_name(g->name, sizeof(g->name), said);
	else
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "rocm-smi does not name the device");
	(void)jlite_string(j, jlite_get(j, node, "Unique ID"), g->uuid, sizeof(g->uuid));
	if (!jlite_string(j, jlite_get(j, node, "GFX Version"), g->cc, sizeof(g->cc)))
		g->cc[0] = '\0';
	if (jlite_number(j, jlite_get(j, node, "VRAM Total Memory (B)"), &v, NULL, 0))
		g->memory_mib = other_mib(v / 1048576);
	if (!(g->memory_mib > 0))
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "rocm-smi does not tell the memory");
	if (jlite_number(j, jlite_get(j, node, "Temperature (Sensor junction) (C)"), &v, NULL, 0) ||
	    jlite_number(j, jlite_get(j, node, "Temperature (Sensor edge) (C)"), &v, NULL, 0))
		other_temperature(o, gpu, true, v);
	else
		other_temperature(o, gpu, false, 0);
	report_health(r, "ecc_uncorrected", gpu, REPORT_UNKNOWN, (double)NAN,
	    "rocm-smi tells it as text only; amd-smi would");
}

static bool
amd_rocm(struct other *o)
{
	static const char *const argv[] = { "rocm-smi", "--showproductname", "--showuniqueid",
		"--showmeminfo", "vram", "--showtemp", "--showdriverversion", "--json", NULL };
	const char *why = "";
	struct tool_out out;
	bool found = o->pci.n[OTHER_AMD] > 0;
	struct jlite j;

	if (!other_run(o, OTHER_AMD, argv, &out)) {
		found = found || out.end == TOOL_HUNG;
	} else if (!jlite_parse(&j, out.text, out.len, &why)) {
		other_unreadable(o, "rocm-smi", why);
		found = true;
	} else {
		for (int i = j.nodes[0].type == JLITE_OBJECT ? j.nodes[0].first : -1; i >= 0;
		     i = j.nodes[i].next) {
			if (j.nodes[i].key_n > 4 && memcmp(j.nodes[i].key, "card", 4) == 0)
				amd_rocm_one(o, &j, i);
		}
		(void)jlite_string(&j, jlite_get(&j, jlite_get(&j, 0, "system"), "Driver version"),
		    o->run->report.driver, sizeof(o->run->report.driver));
		jlite_free(&j);
		other_count(o, OTHER_AMD, "rocm-smi");
		found = found || o->dies > 0;
	}
	tool_free(&out);
	amd_dies(o);
	return found;
}

bool
other_amd(struct other *o)
{
	static const char *const argv[] = { "amd-smi", "static", "--json", NULL };
	const char *why = "";
	struct tool_out out;
	bool found = o->pci.n[OTHER_AMD] > 0;
	struct jlite j;

	if (!tool_exists("amd-smi"))
		return amd_rocm(o);
	if (!other_run(o, OTHER_AMD, argv, &out)) {
		found = found || out.end == TOOL_HUNG;
	} else if (!jlite_parse(&j, out.text, out.len, &why)) {
		other_unreadable(o, "amd-smi static", why);
		found = true;
	} else {
		for (int i = amd_first(&j); i >= 0; i = j.nodes[i].next)
			if (jlite_get(&j, i, "gpu") >=
			    0) /* the same list ends with what is no GPU */
				amd_static_one(o, &j, i);
		jlite_free(&j);
		other_count(o, OTHER_AMD, "amd-smi");
		found = found || o->dies > 0;
		if (o->n > 0)
			amd_metric(o);
		amd_dies(o);
	}
	tool_free(&out);
	return found;
}
