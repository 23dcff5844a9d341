/* kernels/images.h - the device code, embedded as data. */
#ifndef BERTH_KERNELS_IMAGES_H
#define BERTH_KERNELS_IMAGES_H

#include <stddef.h>
#include <stdint.h>

enum image_group {
	IMAGE_BASE,
	IMAGE_TENSOR75,
	IMAGE_TENSOR80,
	IMAGE_TENSOR89,
	IMAGE_WGMMA,
	IMAGE_GROUPS
};

struct image {
	const unsigned char *sass, *ptx; /* a fatbin; PTX text, ends with a 0 byte */
	size_t sass_size, ptx_size;      /* 0: not built */
	int cc_min, cc_max;              /* compute capabilities the group is for: 75 is 7.5 */
};

struct image image_get(enum image_group g);
/* FNV-1a over all images (Fowler, Noll, Vo); 0 when there are none. */
uint64_t image_hash(void);

#endif
