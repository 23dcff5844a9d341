/* Google TPU: the PCI bus says which it is, /dev whether its driver is there, tpu-info who uses it.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/other.h"

/* Memory is the model's: no tool tells it while no program runs on the chip. */
static const struct tpu_model {
	unsigned device, sub;
	const char *name;
	double gib;
} tpu_models[] = {
	{ 0x0027, 0x004e, "TPU v2", 16 },
	{ 0x0027, 0x004f, "TPU v3", 32 },
	{ 0x005e, 0, "TPU v4", 32 },
	{ 0x0063, 0, "TPU v5e", 16 },
	{ 0x0062, 0, "TPU v5p", 95 },
	{ 0x006f, 0, "TPU v6e", 32 },
	{ 0x0076, 0, "TPU7x", 192 },
};

static const struct tpu_model *
tpu_find(unsigned device, unsigned sub)
{
	for (size_t i = 0; i < sizeof(tpu_models) / sizeof(tpu_models[0]); i++)
		if (tpu_models[i].device == device &&
		    (tpu_models[i].sub == 0 || tpu_models[i].sub == sub))
			return &tpu_models[i];
	return NULL;
}

/* Files of dir called prefix and digits. */
static int
tpu_nodes(const char *root, const char *dir, const char *prefix)
{
	const size_t n = strlen(prefix);
	struct dirent *e;
	char path[300];
	int found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s%s", root, dir);
	d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL)
		found += strncmp(e->d_name, prefix, n) == 0 &&
			 isdigit((unsigned char)e->d_name[n]) &&
			 e->d_name[n + strspn(e->d_name + n, "0123456789")] == '\0';
	if (d != NULL)
		closedir(d);
	return found;
}

/* Rows of tpu-info's first table, one a chip: a path under /dev, and "TPU v6e chip" behind it. */
static int
tpu_rows(const char *text)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, "/dev/")) != NULL; p++) {
		const char *nl = strchr(p, '\n'), *type = strstr(p, "TPU");

		n += type != NULL && (nl == NULL || type < nl);
	}
	return n;
}

static void
tpu_info(struct other *o)
{
	static const char *const argv[] = { "tpu-info", NULL };
	struct report *r = &o->run->report;
	struct tool_out out;

	report_running(r, -1, argv[0], OTHER_TOOL_S);
	tool_run(argv, o->run->opts.level == LEVEL_QUICK ? OTHER_TOOL_S / 2.0 : OTHER_TOOL_S, false,
	    &out);
	report_running(r, -1, NULL, 0);
	if (out.end == TOOL_NONE)
		report_health(r, "tpu_info", -1, REPORT_UNKNOWN, (double)NAN,
		    "%s: no health is told", out.why);
	else if (out.end != TOOL_OK)
		report_health(r, "tpu_info", -1, REPORT_FAILED, (double)NAN, "%s", out.why);
	else if (tpu_rows(out.text) != o->n)
		report_health(r, "tpu_info", -1, REPORT_FAILED, tpu_rows(out.text),
		    "tpu-info names %d chips, the PCI bus shows %d", tpu_rows(out.text), o->n);
	else
		report_health(r, "tpu_info", -1, REPORT_OK, o->n, "%d chips", o->n);
	tool_free(&out);
}

bool
other_tpu(struct other *o)
{
	const char *root = o->run->opts.sysroot != NULL ? o->run->opts.sysroot : "";
	const int chips = o->pci.n[OTHER_GOOGLE];
	const int nodes = tpu_nodes(root, "/dev", "accel") + tpu_nodes(root, "/dev/vfio", "");
	const struct tpu_model *m = tpu_find(o->pci.id[OTHER_GOOGLE], o->pci.sub[OTHER_GOOGLE]);
	struct report *r = &o->run->report;

	if (chips == 0)
		return false;
	for (int i = 0; i < chips; i++) {
		struct report_gpu *g = other_gpu(o);

		if (g == NULL)
			break;
		snprintf(g->pci, sizeof(g->pci), "1ae0:%04x", o->pci.id[OTHER_GOOGLE]);
		if (m == NULL)
			continue;
		snprintf(g->name, sizeof(g->name), "%s", m->name);
		g->memory_mib = m->gib * 1024;
	}
	if (m == NULL)
		report_check(r, "identify", -1, REPORT_FAILED, chips,
		    "the PCI device 1ae0:%04x is no TPU that is known", o->pci.id[OTHER_GOOGLE]);
	else
		report_check(r, "identify", -1, REPORT_OK, chips,
		    "%d by the PCI bus; memory is the model's", chips);
	if (nodes < chips)
		report_health(r, "driver", -1, REPORT_FAILED, nodes,
		    "%d of %d chips have a device file in /dev", nodes, chips);
	else
		report_health(r, "driver", -1, REPORT_OK, nodes, "%d device files", nodes);
	tpu_info(o);
	return true;
}
