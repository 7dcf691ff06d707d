/* A fuzz target is a function of bytes. With clang, libFuzzer calls it (make
 * fuzz); with gcc, fuzz_driver.c calls it with mutated seeds, the same in
 * every run. */
#ifndef FUZZ_H
#define FUZZ_H

#include "fixtures.h"

#include "base/budget.h"
#include "et/et_graph.h"

#include <stdlib.h>

static inline void
must(bool held)
{
    if (!held) {
        abort();
    }
}

/* Limit all bounds on memory to a few hundred bytes or, for other inputs, a
 * few thousand, until fd_budget_shrink(0). */
void fuzz_shrink(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seed to mutate. */
fd_status fuzz_seed(fd_buffer *to);

/* Run all functions that read a trace. Aborts if the trace is invalid, or if
 * its dump does not load as the same trace. */
void fuzz_use(const fd_trace *trace);

/* The same for an execution trace: a summary, a comparison with itself as
 * another rank, and each output format, read again. */
void fuzz_use_et(const fd_et *et);

/* Read the events of a file, and count its damaged regions and repairs. */
fd_status fuzz_events(const char *path, uint64_t *faults);

#endif
