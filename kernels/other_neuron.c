/* AWS: neuron-ls names the devices, the first line of neuron-monitor tells their memory errors. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/jlite.h"
#include "kernels/other.h"

/* By the instance type; else by the PCI device; "" unknown. */
static const char *
neuron_model(const char *type, unsigned pci)
{
	static const struct {
		const char *prefix;
		unsigned pci;
		const char *name;
	} models[] = {
		{ "inf1", 0x7064, "Inferentia1" },
		{ "inf1", 0x7065, "Inferentia1" },
		{ "inf1", 0x7066, "Inferentia1" },
		{ "inf1", 0x7067, "Inferentia1" },
		{ "inf2", 0x7264, "Inferentia2" },
		{ "trn1", 0x7164, "Trainium1" },
		{ "trn2", 0x7364, "Trainium2" },
		{ "trn3", 0x7564, "Trainium3" },
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (type[0] != '\0' ? strncmp(type, models[i].prefix, 4) == 0
				    : pci == models[i].pci)
			return models[i].name;
	return "";
}

static void
neuron_one(struct other *o, const struct jlite *j, int node)
{
	struct report *r = &o->run->report;
	const int gpu = o->n;
	struct report_gpu *g = other_gpu(o);
	char type[48] = "";
	double v;

	o->dies++;
	if (g == NULL)
		return;
	if (!jlite_string(j, jlite_get(j, node, "instance_type"), type, sizeof(type)))
		(void)jlite_string(j, jlite_get(j, 0, "instance_type"), type, sizeof(type));
	snprintf(g->name, sizeof(g->name), "%s", neuron_model(type, o->pci.id[OTHER_AMAZON]));
	if (g->name[0] == '\0')
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "neither the instance type '%s' nor the PCI bus says which device it is", type);
	(void)jlite_string(j, jlite_get(j, node, "bdf"), g->bus, sizeof(g->bus));
	if (jlite_number(j, jlite_get(j, node, "memory_size"), &v, NULL, 0))
		g->memory_mib = other_mib(v / 1048576);
	if (!(g->memory_mib > 0))
		report_check(r, "identify", gpu, REPORT_FAILED, (double)NAN,
		    "neuron-ls does not tell the memory");
	if (!jlite_number(j, jlite_get(j, node, "nc_count"), &v, NULL, 0) || v < 1)
		report_check(
		    r, "cores", gpu, REPORT_FAILED, (double)NAN, "neuron-ls tells of no core");
	else
		report_health(r, "cores", gpu, REPORT_OK, v, "%.0f cores", v);
	node = jlite_get(j, node, "neuron_processes");
	if (node >= 0 && j->nodes[node].first >= 0)
		report_health(
		    r, "utilization", gpu, REPORT_NOTE, (double)NAN, "another process uses it");
}

static void
neuron_ecc(struct other *o, const struct jlite *j, int node, int gpu)
{
	static const struct {
		const char *key;
		enum report_status bad;
	} counts[] = {
		{ "mem_ecc_uncorrected", REPORT_FAILED },
		{ "sram_ecc_uncorrected", REPORT_FAILED },
		{ "mem_ecc_corrected", REPORT_NOTE },
		{ "sram_ecc_corrected", REPORT_NOTE },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		double v;

		if (jlite_number(j, jlite_get(j, node, counts[i].key), &v, NULL, 0))
			report_health(&o->run->report, counts[i].key, gpu,
			    v > 0 ? counts[i].bad : REPORT_OK, v, "%.0f", v);
		else if (i == 0)
			report_health(&o->run->report, counts[i].key, gpu, REPORT_UNKNOWN,
			    (double)NAN, "not told");
	}
}

static void
neuron_monitor(struct other *o)
{
	static const char *const argv[] = { "neuron-monitor", NULL };
	struct report *r = &o->run->report;
	const char *why = "", *nl;
	struct tool_out out;
	struct jlite j;
	int list;

	report_running(r, -1, argv[0], OTHER_TOOL_S);
	tool_run(argv, o->run->opts.level == LEVEL_QUICK ? OTHER_TOOL_S / 2.0 : OTHER_TOOL_S, true,
	    &out);
	report_running(r, -1, NULL, 0);
	nl = out.text != NULL ? strchr(out.text, '\n') : NULL;
	if (out.end == TOOL_NONE) {
		report_health(
		    r, "mem_ecc_uncorrected", -1, REPORT_UNKNOWN, (double)NAN, "%s", out.why);
	} else if (out.end != TOOL_OK) {
		report_health(r, "monitor", -1, REPORT_FAILED, (double)NAN, "%s", out.why);
	} else if (!jlite_parse(
		       &j, out.text, nl != NULL ? (size_t)(nl - out.text) : out.len, &why)) {
		other_unreadable(o, "neuron-monitor", why);
	} else {
		list = jlite_get(&j,
		    jlite_get(&j, jlite_get(&j, 0, "system_data"), "neuron_hw_counters"),
		    "neuron_devices");
		if (list < 0 || j.nodes[list].first < 0)
			report_health(r, "mem_ecc_uncorrected", -1, REPORT_UNKNOWN, (double)NAN,
			    "neuron-monitor has no hardware counters");
		for (int i = list >= 0 ? j.nodes[list].first : -1; i >= 0; i = j.nodes[i].next) {
			double at;

			if (jlite_number(
				&j, jlite_get(&j, i, "neuron_device_index"), &at, NULL, 0) &&
			    at >= 0 && at < o->n)
				neuron_ecc(o, &j, i, (int)at);
		}
		jlite_free(&j);
	}
	tool_free(&out);
}

bool
other_neuron(struct other *o)
{
	static const char *const argv[] = { "neuron-ls", "--json-output", NULL };
	bool found = o->pci.n[OTHER_AMAZON] > 0;
	const char *why = "";
	struct tool_out out;
	struct jlite j;

	if (!other_run(o, OTHER_AMAZON, argv, &out)) {
		found = found || out.end == TOOL_HUNG;
	} else if (!jlite_parse(&j, out.text, out.len, &why)) {
		other_unreadable(o, "neuron-ls", why);
		found = true;
	} else {
		int list = 0;

		/* a bare list, or an object around it */
		if (j.nodes[0].type == JLITE_OBJECT)
			for (list = j.nodes[0].first; list > 0 && j.nodes[list].type != JLITE_ARRAY;
			     list = j.nodes[list].next)
				;
		for (int i = list < 0                            ? -1
			     : j.nodes[list].type == JLITE_ARRAY ? j.nodes[list].first
								 : -1;
		     i >= 0; i = j.nodes[i].next)
			neuron_one(o, &j, i);
		jlite_free(&j);
		other_count(o, OTHER_AMAZON, "neuron-ls");
		found = found || o->n > 0;
		if (o->n > 0)
			neuron_monitor(o);
	}
	tool_free(&out);
	return found;
}
