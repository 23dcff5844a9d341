/* tests/fuzz/fuzz.h - what a fuzz target gives to libFuzzer, or to the main that replays its seeds. */
#ifndef BERTH_FUZZ_H
#define BERTH_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern const char fuzz_name[];	/* its seeds lie in tests/fuzz/seeds/NAME */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process where a promise of the code under test is broken, so that the fuzzer keeps the input. */
#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

#endif
