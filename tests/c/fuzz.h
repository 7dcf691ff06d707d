/* A fuzz target is a function over bytes. libFuzzer drives it with clang
 * (make fuzz); fuzz_driver.c drives it with mutated seeds under gcc, the same
 * ones in every run. */
#ifndef FUZZ_H
#define FUZZ_H

#include "fixtures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seed to mutate. */
fd_status fuzz_seed(fd_buffer *to);

/* Everything that reads a trace, on a trace that came from anywhere. Stops the
 * program when it is not sound, or its dump does not load to the same. */
void fuzz_use(const fd_trace *trace);

#endif
