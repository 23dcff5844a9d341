#include "config.h"

#include "kernels/images.h"

/* Images that the fake driver takes for machine code and for PTX; the real ranges of capabilities. */
struct image
image_get(enum image_group g)
{
	static const unsigned char sass[8] = "fatbin!", ptx[16] = "//\n.version 7.0";
	static const int cc[IMAGE_GROUPS][2] = {
		[IMAGE_BASE] = { 60, 9999 }, [IMAGE_TENSOR75] = { 75, 75 }, [IMAGE_TENSOR80] = { 80, 9999 },
		[IMAGE_TENSOR89] = { 89, 9999 }, [IMAGE_WGMMA] = { 90, 90 },
	};

	return (struct image){ sass, ptx, sizeof(sass), sizeof(ptx), cc[g][0], cc[g][1] };
}

uint64_t
image_hash(void)
{
	return 0xfa4eull;
}
