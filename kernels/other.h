/* kernels/other.h - machines with accelerators of other vendors, by what their tools say. */
#ifndef BERTH_KERNELS_OTHER_H
#define BERTH_KERNELS_OTHER_H

#include "kernels/run.h"
#include "kernels/tool.h"

enum other_vendor {
	OTHER_GOOGLE,
	OTHER_AMAZON,
	OTHER_AMD,
	OTHER_HABANA,
	OTHER_HUAWEI,
	OTHER_NVIDIA,
	OTHER_VENDORS
};

#define OTHER_TOOL_S                                                                               \
	12 /* half of it with --quick; amd-smi starts Python; hl-smi with its driver gone takes    \
	      long to say so */

#define OTHER_MIB_MAX 1e9 /* of one device; 1024 TiB, what the reader of a result takes */

/* What the PCI bus shows, whatever the tools say. */
struct other_pci {
	int n[OTHER_VENDORS];       /* accelerators of a vendor */
	unsigned id[OTHER_VENDORS]; /* device id of the first */
	unsigned sub[OTHER_VENDORS];
};

struct other {
	struct run *run;
	struct other_pci pci;
	int n;    /* devices entered into the report */
	int dies; /* devices that the tool named, before dies of one package were put together */
};

/* Each: true if machines of that vendor were found or should be there; what it found, and what is
 * wrong, is reported. */
bool other_neuron(struct other *o);
bool other_amd(struct other *o);
bool other_gaudi(struct other *o);
bool other_ascend(struct other *o);
bool other_tpu(struct other *o);

/* Runs a tool; a hang, a failure or, with devices on the PCI bus, its absence is reported as check
 * "identify". */
bool other_run(struct other *o, enum other_vendor v, const char *const *argv, struct tool_out *out);
/* Enters one device; NULL when there are too many. Its memory is NaN and its name empty. */
struct report_gpu *other_gpu(struct other *o);
/* Says that the tool's output cannot be read, which fails the run. */
void other_unreadable(struct other *o, const char *tool, const char *why);
/* A size in MiB that a device can have, else NaN: what a tool says beyond that is unknown. */
double other_mib(double v);
void other_temperature(struct other *o, int gpu, bool known, double c);
/* Compares the tool's count with the PCI bus's; a device that either of them lacks fails. */
void other_count(struct other *o, enum other_vendor v, const char *tool);

#endif
