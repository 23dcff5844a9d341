#include "config.h"

#include "kernels/images.h"

/* Files are found from where make runs, the top of the build; one is empty where no compiler made
 * it. */
#define EMBED(sym, file)                                                                           \
	__asm__(                                                                                   \
	    ".section .rodata\n.balign 64\n"                                                       \
	    ".globl image_" #sym "\nimage_" #sym ":\n.incbin \"kernels/" file "\"\n"               \
	    ".globl image_" #sym "_end\nimage_" #sym "_end:\n.byte 0\n.balign 64\n.previous\n");   \
	extern const unsigned char image_##sym[], image_##sym##_end[]

EMBED(base_sass, "base.fatbin");
EMBED(base_ptx, "base.ptx");
EMBED(tensor75_sass, "tensor75.fatbin");
EMBED(tensor75_ptx, "tensor75.ptx");
EMBED(tensor80_sass, "tensor80.fatbin");
EMBED(tensor80_ptx, "tensor80.ptx");
EMBED(tensor89_sass, "tensor89.fatbin");
EMBED(tensor89_ptx, "tensor89.ptx");
EMBED(wgmma_sass, "wgmma.fatbin");
EMBED(wgmma_ptx, "wgmma.ptx");

static struct image
image_make(const unsigned char *sass, const unsigned char *sass_end, const unsigned char *ptx,
    const unsigned char *ptx_end, int cc_min, int cc_max)
{
	return (struct image){ sass, ptx, (size_t)(sass_end - sass), (size_t)(ptx_end - ptx),
		cc_min, cc_max };
}

#define IMAGE(name, lo, hi)                                                                        \
	image_make(image_##name##_sass, image_##name##_sass_end, image_##name##_ptx,               \
	    image_##name##_ptx_end, lo, hi)

struct image
image_get(enum image_group g)
{
	switch (g) {
	case IMAGE_BASE:
	case IMAGE_GROUPS:
		break;
	case IMAGE_TENSOR75:
		return IMAGE(tensor75, 75, 75);
	case IMAGE_TENSOR80:
		return IMAGE(tensor80, 80, 9999);
	case IMAGE_TENSOR89:
		return IMAGE(tensor89, 89, 9999);
	case IMAGE_WGMMA:
		return IMAGE(wgmma, 90, 90);
	}
	return IMAGE(base, 60, 9999);
}

uint64_t
image_hash(void)
{
	uint64_t h = 0xcbf29ce484222325ull;
	size_t total = 0;

	for (int g = 0; g < IMAGE_GROUPS; g++) {
		const struct image im = image_get((enum image_group)g);

		for (size_t i = 0; i < im.sass_size; i++)
			h = (h ^ im.sass[i]) * 0x100000001b3ull;
		for (size_t i = 0; i < im.ptx_size; i++)
			h = (h ^ im.ptx[i]) * 0x100000001b3ull;
		total += im.sass_size + im.ptx_size;
	}
	return total > 0 ? h : 0;
}
