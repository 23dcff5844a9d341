/* src/store/usage_pack.h - jobs of one hour in few bytes.  Floor: store, private to it. */
#ifndef BERTH_STORE_USAGE_PACK_H
#define BERTH_STORE_USAGE_PACK_H

#include <stddef.h>

#include "store/usage_rows.h"
#include "util/arena.h"
#include "util/buf.h"

#define USAGE_PACK_VERSION 1

/*
 * rows [n] in the order of their keys. One byte of version, then for each row: submit as the
 * distance to the row before (to hour at first), how many bytes of job are as before and the
 * others, part, label, a byte of state and form, start as the distance to submit, until as the
 * distance to start or submit, gpus. Numbers are LEB128, a fraction of a GPU eight bytes.
 */
enum berth_code usage_pack(int64_t hour, const struct usage_job *rows, size_t n, struct buf *out);
/* One row after the other; job of each lives until the next. */
struct usage_unpack {
	const unsigned char *p, *end;
	int64_t submit;
	char job[256];
	size_t job_len;
};
/* False: made by a newer berth, or damaged. */
bool usage_unpack_begin(struct usage_unpack *u, int64_t hour, const void *bytes, size_t n);
/* 1: a row; 0: the end; -1: damaged. */
int usage_unpack_next(struct usage_unpack *u, struct usage_job *row_out);

#endif
