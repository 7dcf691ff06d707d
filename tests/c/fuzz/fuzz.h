/* A fuzz target is a function over bytes. libFuzzer drives it with clang
 * (make fuzz); fuzz_driver.c drives it with mutated seeds under gcc, the same
 * ones in every run. */
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

/* From here on no bound on memory is above a few hundred bytes or, for other
 * inputs, a few thousand; fd_budget_shrink(0) ends that. */
void fuzz_shrink(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The seed to mutate. */
fd_status fuzz_seed(fd_buffer *to);

/* Everything that reads a trace, on a trace that came from anywhere. Stops the
 * program when it is not sound, or its dump does not load to the same. */
void fuzz_use(const fd_trace *trace);

/* The same for an execution trace: a report, an estimate, a comparison with
 * itself, and each form it is written in, read again. */
void fuzz_use_et(const fd_et *et);

#endif
