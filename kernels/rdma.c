/* RDMA ports as the kernel shows them; libibverbs, where it is there, says whether a program could
 * use them. */
#include "config.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rdma_api.h"
#include "kernels/run.h"

static bool
rdma_line(const char *dir, const char *file, char *out, size_t n)
{
	char path[800];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	ok = fgets(out, (int)n, f) != NULL;
	fclose(f);
	out[ok ? strcspn(out, "\n") : 0] = '\0';
	return ok;
}

/* "4: ACTIVE", "400 Gb/sec (4X NDR)". One port: 1 if it is up. */
static int
rdma_port(struct run *run, const char *dir, const char *dev, const char *port)
{
	char state[40] = "", rate[60] = "", layer[40] = "";
	double gbps = (double)NAN;
	char *end;
	bool up;

	if (!rdma_line(dir, "state", state, sizeof(state)))
		return 0;
	(void)rdma_line(dir, "rate", rate, sizeof(rate));
	(void)rdma_line(dir, "link_layer", layer, sizeof(layer));
	up = strstr(state, "ACTIVE") != NULL;
	gbps = strtod(rate, &end);
	report_health(&run->report, "rdma_port", -1, up ? REPORT_OK : REPORT_NOTE,
	    end != rate ? gbps : (double)NAN, "%.40s port %.8s: %s, %s, %s", dev, port, state, rate,
	    layer);
	return up;
}

static int
rdma_device(struct run *run, const char *root, const char *dev, int *ports)
{
	char dir[600], port[700];
	struct dirent *e;
	int up = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/%s/ports", root, dev);
	d = opendir(dir);
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(port, sizeof(port), "%s/%.60s", dir, e->d_name);
		up += rdma_port(run, port, dev, e->d_name);
		++*ports;
	}
	if (d != NULL)
		closedir(d);
	return up;
}

/* Devices that a program could open, or -1 without the library. */
static int
rdma_usable(char *why, size_t n)
{
	struct rdma_api api;
	int count = 0;
	void **list;

	if (rdma_api_open(&api, why, n) != 0)
		return -1;
	list = api.device_list(&count);
	if (list == NULL)
		return 0;
	api.device_list_free(list);
	return count;
}

void
rdma_ports(struct run *run)
{
	int devices = 0, ports = 0, up = 0, usable;
	struct dirent *e;
	char root[300], why[120];
	DIR *d;

	snprintf(root, sizeof(root), "%s/sys/class/infiniband",
	    run->opts.sysroot != NULL ? run->opts.sysroot : "");
	d = opendir(root);
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		devices++;
		up += rdma_device(run, root, e->d_name, &ports);
	}
	if (d != NULL)
		closedir(d);
	if (devices == 0)
		return;
	usable = rdma_usable(why, sizeof(why));
	report_health(&run->report, "rdma", -1, up == 0 ? REPORT_FAILED : REPORT_OK, up,
	    "%d of %d ports of %d devices are up", up, ports, devices);
	if (usable < 0)
		report_health(
		    &run->report, "rdma_library", -1, REPORT_UNKNOWN, (double)NAN, "%s", why);
	else
		report_health(&run->report, "rdma_library", -1,
		    usable < devices ? REPORT_NOTE : REPORT_OK, usable,
		    "libibverbs sees %d of %d devices", usable, devices);
}
