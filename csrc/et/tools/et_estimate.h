/* Estimate of the duration of a step by simulating the traces of all ranks.
 *
 * A thread repeats its operators with the same pauses between them. A kernel
 * starts after its launch, the previous kernel of its stream and its events; a
 * collective starts once all ranks that it waits for have arrived. */
#ifndef FD_ET_ESTIMATE_H
#define FD_ET_ESTIMATE_H

#include "et/tools/et_simulator.h"

/* Time on the critical path per name and rank. */
typedef struct fd_et_path_entry {
    uint32_t name; /* text of `texts`; 0: outside of operators */
    uint32_t rank; /* index of the rank */
    uint64_t count;
    int64_t ns;
} fd_et_path_entry;

typedef enum fd_et_version {
    FD_ET_MEASURED,
    FD_ET_REPLAYED, /* simulated without changes, to check the model */
    FD_ET_PREDICTED,
    FD_ET_VERSIONS
} fd_et_version;

/* A step, ProfilerStep#N on all ranks: from the first start to the last end of
 * the nodes and of the kernels below them. */
typedef struct fd_et_step {
    uint32_t name; /* text of `texts` */
    int64_t begin[FD_ET_VERSIONS];
    int64_t end[FD_ET_VERSIONS];
} fd_et_step;

typedef struct fd_et_estimate {
    int64_t measured_ns; /* from the first start to the last end */
    int64_t replayed_ns; /* duration simulated without changes, to check the
                          * model */
    int64_t predicted_ns;
    /* in the order of the first rank with such steps */
    FD_VECTOR(fd_et_step) steps;
    uint64_t matched; /* collectives and messages for which ranks wait */
    uint64_t broken;  /* collectives and messages without waiting, because
                       * ranks do not match */
    uint64_t untimed; /* nodes without times, simulated with length 0 */
    fd_text_pool texts;
    FD_VECTOR(fd_et_path_entry) path; /* sorted, longest first */
} fd_et_estimate;

/* Make the estimate. `traces` has the traces of all ranks, with edges and
 * communication. FD_EINVAL: no times. Clear the estimate also after a
 * failure. */
fd_status fd_et_estimate_make(const fd_et *traces, uint32_t count,
                              const fd_et_ranks *ranks,
                              const fd_et_changes *changes,
                              fd_et_estimate *estimate, fd_error *error);
void fd_et_estimate_clear(fd_et_estimate *estimate);

#endif
