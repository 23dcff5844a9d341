#include "config.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/other.h"

#define OTHER_HOT_C 90   /* worth a note: clocks fall from here on or soon after */
#define OTHER_FAIL_C 105 /* vendors' slow-down limits lie between 95 and 105 */

static bool
other_read(const char *dir, const char *name, const char *file, unsigned *out)
{
	char path[600], text[32], *end = text;
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	ok = fgets(text, sizeof(text), f) != NULL;
	fclose(f);
	if (ok)
		*out = (unsigned)strtoul(text, &end, 16);
	return ok && end != text;
}

/* Is this an accelerator, and whose? Network and storage functions of the same vendors are not. */
static int
other_vendor(unsigned vendor, unsigned device, unsigned class)
{
	const unsigned kind = class >> 8; /* 0x1200 processing accelerator, 0x03xx display */

	switch (vendor) {
	case 0x1ae0:
		return kind >> 8 == 0x02 || kind >> 8 == 0x01 || kind >> 8 == 0x06 ? -1
										   : OTHER_GOOGLE;
	case 0x1d0f:
		return (device >= 0x7064 && device <= 0x7067) || (device & 0xf0ff) == 0x7064
			   ? OTHER_AMAZON
			   : -1;
	case 0x1002:
		return kind == 0x1200 || kind == 0x0380 || kind == 0x0302 ? OTHER_AMD : -1;
	case 0x1da3:
		return OTHER_HABANA;
	case 0x19e5:
		return kind == 0x1200 ? OTHER_HUAWEI : -1;
	case 0x10de:
		return kind == 0x0300 || kind == 0x0302 ? OTHER_NVIDIA : -1;
	default:
		return -1;
	}
}

static void
other_scan(const char *root, struct other_pci *p)
{
	struct dirent *e;
	char dir[300];
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/sys/bus/pci/devices", root);
	d = opendir(dir);
	while (d != NULL && (e = readdir(d)) != NULL) {
		unsigned vendor = 0, device = 0, class = 0, sub = 0;
		int v;

		if (e->d_name[0] == '.' || !other_read(dir, e->d_name, "vendor", &vendor) ||
		    !other_read(dir, e->d_name, "device", &device) ||
		    !other_read(dir, e->d_name, "class", &class))
			continue;
		v = other_vendor(vendor, device, class);
		if (v < 0)
			continue;
		(void)other_read(dir, e->d_name, "subsystem_device", &sub);
		p->id[v] = device;
		p->sub[v] = sub;
		p->n[v]++;
	}
	if (d != NULL)
		closedir(d);
}

struct report_gpu *
other_gpu(struct other *o)
{
	struct report_gpu *g;

	if (o->n >= REPORT_MAX_GPUS)
		return NULL;
	g = &o->run->report.gpus[o->n++];
	*g = (struct report_gpu){ .present = true,
		.sms = -1,
		.ecc = -1,
		.memory_mib = (double)NAN,
		.power_limit_w = (double)NAN };
	return g;
}

double
other_mib(double v)
{
	return v > 0 && v <= OTHER_MIB_MAX ? v : (double)NAN;
}

void
other_unreadable(struct other *o, const char *tool, const char *why)
{
	report_check(&o->run->report, "identify", -1, REPORT_FAILED, (double)NAN,
	    "what %s prints cannot be read: %s", tool, why);
}

bool
other_run(struct other *o, enum other_vendor v, const char *const *argv, struct tool_out *out)
{
	struct report *r = &o->run->report;

	report_running(r, -1, argv[0], OTHER_TOOL_S);
	tool_run(argv, o->run->opts.level == LEVEL_QUICK ? OTHER_TOOL_S / 2.0 : OTHER_TOOL_S, false,
	    out);
	report_running(r, -1, NULL, 0);
	if (out->end == TOOL_OK)
		return true;
	if (out->end == TOOL_HUNG || o->pci.n[v] > 0)
		report_check(r, "identify", -1, REPORT_FAILED, o->pci.n[v],
		    "%s; the PCI bus shows %d such devices", out->why, o->pci.n[v]);
	else if (out->end == TOOL_FAILED)
		report_error(r, argv[0], 0, "%s", out->why);
	return false;
}

void
other_temperature(struct other *o, int gpu, bool known, double c)
{
	struct report *r = &o->run->report;

	if (!known)
		report_health(r, "temperature", gpu, REPORT_UNKNOWN, (double)NAN, "not told");
	else
		report_health(r, "temperature", gpu,
		    c >= OTHER_FAIL_C || c > 200 ? REPORT_FAILED
		    : c >= OTHER_HOT_C           ? REPORT_NOTE
						 : REPORT_OK,
		    c, "%g C", c);
}

void
other_count(struct other *o, enum other_vendor v, const char *tool)
{
	struct report *r = &o->run->report;

	if (o->pci.n[v] > o->dies)
		report_check(r, "identify", -1, REPORT_FAILED, o->dies,
		    "%s names %d devices, the PCI bus shows %d", tool, o->dies, o->pci.n[v]);
	else if (o->dies > 0)
		report_check(
		    r, "identify", -1, REPORT_OK, o->dies, "%d named by %s", o->dies, tool);
}

bool
other_find(struct run *run)
{
	static bool (*const finders[])(
	    struct other *) = { other_neuron, other_amd, other_gaudi, other_ascend, other_tpu };
	struct other o = { .run = run };
	bool found = false;

	other_scan(run->opts.sysroot != NULL ? run->opts.sysroot : "", &o.pci);
	if (o.pci.n[OTHER_NVIDIA] > 0)
		report_error(&run->report, "pci", 0,
		    "the PCI bus shows %d NVIDIA devices (the first is 10de:%04x): the driver is "
		    "missing or broken",
		    o.pci.n[OTHER_NVIDIA], o.pci.id[OTHER_NVIDIA]);
	for (size_t i = 0; i < sizeof(finders) / sizeof(finders[0]) && !found; i++)
		found = finders[i](&o);
	if (found)
		run->report.mode = "other";
	return found;
}
