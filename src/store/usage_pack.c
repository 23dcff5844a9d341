#include "store/usage_pack.h"

#include <math.h>
#include <string.h>

#define PACK_STARTED 4u  /* with the state in bits 0 and 1 */
#define PACK_FRACTION 8u /* gpus is a double */
#define PACK_BEFORE 16u  /* until lies before start or submit: it is the distance back */
#define PACK_EARLY 32u   /* start lies before submit */

#define PACK_ROW_MAX 80 /* bytes of a row beside its job */

static char *
pack_number(char *p, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*p++ = (char)((v & 0x7f) | 0x80);
	*p++ = (char)v;
	return p;
}

static uint64_t
pack_distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)(a - b) : (uint64_t)(b - a);
}

static void
pack_row(const struct usage_job *r, const char *before, int64_t submit, struct buf *out)
{
	size_t same = 0, len = strlen(r->job);
	bool whole = r->gpus == floor(r->gpus) && r->gpus < 1e9;
	int64_t from = r->start != 0 ? r->start : r->submit;
	char *const row = buf_reserve(out, len + PACK_ROW_MAX);
	char *p = row;

	if (row == NULL)
		return;
	while (before[same] != '\0' && before[same] == r->job[same])
		same++;
	p = pack_number(p, (uint64_t)(r->submit - submit));
	p = pack_number(p, same);
	p = pack_number(p, len - same);
	memcpy(p, r->job + same, len - same);
	p = pack_number(p + (len - same), (uint64_t)r->part);
	p = pack_number(p, (uint64_t)r->label);
	*p++ = (char)((unsigned)r->state | (r->start != 0 ? PACK_STARTED : 0) |
		      (whole ? 0 : PACK_FRACTION) | (r->until < from ? PACK_BEFORE : 0) |
		      (r->start != 0 && r->start < r->submit ? PACK_EARLY : 0));
	if (r->start != 0)
		p = pack_number(p, pack_distance(r->start, r->submit));
	p = pack_number(p, pack_distance(r->until, from));
	if (whole) {
		p = pack_number(p, (uint64_t)r->gpus);
	} else {
		memcpy(p, &r->gpus, sizeof(r->gpus));
		p += sizeof(r->gpus);
	}
	buf_commit(out, (size_t)(p - row));
}

enum berth_code
usage_pack(int64_t hour, const struct usage_job *rows, size_t n, struct buf *out)
{
	const char *before = "";
	int64_t submit = hour;

	(void)buf_add_char(out, USAGE_PACK_VERSION);
	for (size_t i = 0; i < n; i++) {
		pack_row(&rows[i], before, submit, out);
		before = rows[i].job;
		submit = rows[i].submit;
	}
	return out->code;
}

bool
usage_unpack_begin(struct usage_unpack *u, int64_t hour, const void *bytes, size_t n)
{
	u->p = bytes;
	u->end = u->p + n;
	u->submit = hour;
	u->job_len = 0;
	u->job[0] = '\0';
	return n > 0 && *u->p++ == USAGE_PACK_VERSION;
}

static bool
unpack_number(struct usage_unpack *u, uint64_t *out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; u->p < u->end && shift < 64; shift += 7) {
		unsigned char b = *u->p++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			*out = v;
			return v <= INT64_MAX;
		}
	}
	return false;
}

static bool
unpack_job(struct usage_unpack *u)
{
	uint64_t same, more;

	if (!unpack_number(u, &same) || !unpack_number(u, &more) || same > u->job_len ||
	    more > (uint64_t)(u->end - u->p) || same + more >= sizeof(u->job))
		return false;
	memcpy(u->job + same, u->p, more);
	u->p += more;
	u->job_len = same + more;
	u->job[u->job_len] = '\0';
	return true;
}

static bool
unpack_gpus(struct usage_unpack *u, bool fraction, double *out)
{
	uint64_t v;

	if (!fraction) {
		if (!unpack_number(u, &v))
			return false;
		*out = (double)v;
		return true;
	}
	if ((size_t)(u->end - u->p) < sizeof(*out))
		return false;
	memcpy(out, u->p, sizeof(*out));
	u->p += sizeof(*out);
	return isfinite(*out) && *out >= 0;
}

int
usage_unpack_next(struct usage_unpack *u, struct usage_job *r)
{
	uint64_t submit, part, label, start = 0, lasts;
	int64_t from;
	unsigned form;

	if (u->p == u->end)
		return 0;
	if (!unpack_number(u, &submit) || !unpack_job(u) || !unpack_number(u, &part) ||
	    !unpack_number(u, &label) || u->p == u->end)
		return -1;
	form = *u->p++;
	if ((form & 3) > USAGE_OVER || ((form & PACK_STARTED) != 0 && !unpack_number(u, &start)) ||
	    !unpack_number(u, &lasts) || !unpack_gpus(u, (form & PACK_FRACTION) != 0, &r->gpus))
		return -1;
	u->submit += (int64_t)submit;
	r->submit = u->submit;
	r->job = u->job;
	r->part = (int64_t)part;
	r->label = (int64_t)label;
	r->state = (enum usage_state)(form & 3);
	r->start = 0;
	if ((form & PACK_STARTED) != 0)
		r->start =
		    r->submit + ((form & PACK_EARLY) != 0 ? -(int64_t)start : (int64_t)start);
	from = r->start != 0 ? r->start : r->submit;
	r->until = from + ((form & PACK_BEFORE) != 0 ? -(int64_t)lasts : (int64_t)lasts);
	return 1;
}
