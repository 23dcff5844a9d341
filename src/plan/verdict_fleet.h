/* src/plan/verdict_fleet.h - the fleet's own medians as references.  Floor: domain. */
#ifndef BERTH_PLAN_VERDICT_FLEET_H
#define BERTH_PLAN_VERDICT_FLEET_H

#include "plan/verdict.h"

/* One measured value. Strings are borrowed for the life of the references. */
struct verdict_fleet_row {
	const char *accelerator, *test, *provider;
	const char *key;     /* verdict_fleet_key(); "" or NULL: not known */
	const char *machine; /* what tells machines apart: one vote each */
	int64_t t;           /* s since epoch */
	double value;        /* of the machine's slowest GPU */
	bool rejected;       /* its machine was refused: no vote */
};

/*
 * What makes two devices of one name comparable: PCI device and subsystem, slice, ECC, power limit,
 * and the kernels that measured. "" where the PCI numbers are not known. ecc  1 on, 0 off, -1 not
 * said;  power_w  NaN: not said
 */
const char *verdict_fleet_key(struct arena *a, const char *pci, const char *mig, int ecc,
    double power_w, const char *kernels);

/*
 * Adds one reference per accelerator, test and key to refs: the median over machines of each one's
 * newest value, with the number of machines and providers behind it and its drift (median of the
 * newer half of the machines over that of the older half, minus 1). Values that are no positive
 * numbers and rejected machines do not vote. rows [n]  in any order; sorted in place
 */
void verdict_fleet_add(
    struct verdict_fleet_row *rows, size_t n, struct arena *a, struct verdict_refs *refs);

#endif
