/* Changes of facts that the recording process leaves to readers. */
#ifndef FD_FACT_CHANGES_H
#define FD_FACT_CHANGES_H

#include "trace/trace.h"

typedef struct fd_fact_change {
    const char *name; /* member of the fact */
    const char *text; /* its new value */
} fd_fact_change;

/* Replace members of a fact of a rank, a JSON object, by texts. Other members
 * and other facts stay as they are. The trace is not sorted afterwards. */
fd_status fd_rank_change_fact(fd_trace *trace, fd_trace_rank *rank,
                              const char *key, const fd_fact_change *changes,
                              uint32_t count);

#endif
