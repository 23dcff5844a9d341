#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/run.h"

/* "NVRM: Xid (PCI:0000:3b:00): 79, pid=..., GPU has fallen off the bus." */
int
health_xid_line(const char *line, char *bus, size_t n)
{
	const char *p = strstr(line, "NVRM: Xid (PCI:");
	size_t len;
	char *end;
	long xid;

	if (p == NULL)
		return -1;
	p += strlen("NVRM: Xid (PCI:");
	len = strcspn(p, ")");
	if (p[len] != ')' || p[len + 1] != ':' || len + 1 > n)
		return -1;
	memcpy(bus, p, len);
	bus[len] = '\0';
	p += len + 2;
	xid = strtol(p, &end, 10);
	return end == p || xid < 0 || xid > 9999 ? -1 : (int)xid;
}

/* The kernel log says "0000:3b:00", CUDA "0000:3B:00.0". */
static bool
health_same_bus(const char *log, const char *cuda)
{
	size_t n = strlen(log);

	for (size_t i = 0; i < n; i++)
		if (tolower((unsigned char)log[i]) != tolower((unsigned char)cuda[i]))
			return false;
	return n > 0 && (cuda[n] == '\0' || cuda[n] == '.');
}

static void
health_kmsg_line(struct run *run, const char *line)
{
	char bus[32];
	int xid = health_xid_line(line, bus, sizeof(bus)), index = -1;

	if (xid < 0)
		return;
	for (int i = 0; i < run->n_gpus; i++)
		if (health_same_bus(bus, run->report.gpus[i].bus))
			index = i;
	report_health(&run->report, "xid", index,
	    health_xid_fatal((unsigned)xid) ? REPORT_FAILED : REPORT_NOTE, xid,
	    "Xid %d of PCI %s since the boot", xid, bus);
}

void
health_kmsg(struct run *run)
{
	const char *path = run->opts.kmsg != NULL ? run->opts.kmsg : "/dev/kmsg";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), lines = 0;
	char buf[8192];
	size_t have = 0;

	if (fd < 0) {
		report_health(&run->report, "kernel_log", -1, REPORT_UNKNOWN, (double)NAN, "%s: %s",
		    path, strerror(errno));
		return;
	}
	/* /dev/kmsg gives one record a read; a file gives pieces: lines are cut out of either */
	for (int reads = 0; reads < 100000; reads++) {
		ssize_t got = read(fd, buf + have, sizeof(buf) - 1 - have);
		char *from = buf, *nl;

		if (got < 0 && errno == EPIPE)
			continue; /* records were overwritten meanwhile */
		if (got <= 0)
			break;
		have += (size_t)got;
		buf[have] = '\0';
		while ((nl = memchr(from, '\n', have - (size_t)(from - buf))) != NULL) {
			*nl = '\0';
			health_kmsg_line(run, from);
			lines++;
			from = nl + 1;
		}
		have -= (size_t)(from - buf);
		memmove(buf, from, have);
		if (have == sizeof(buf) - 1)
			have = 0; /* a line longer than any the driver writes */
	}
	close(fd);
	report_health(&run->report, "kernel_log", -1, REPORT_OK, lines, "%d lines read", lines);
}
