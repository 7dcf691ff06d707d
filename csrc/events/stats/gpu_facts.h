/* Arguments of torch.profiler's GPU events and of the calls that launched
 * them. */
#ifndef FD_GPU_FACTS_H
#define FD_GPU_FACTS_H

#include "events/timeline_event.h"

#define FD_NO_STREAM INT64_MIN
#define FD_NO_CORRELATION UINT64_MAX

typedef struct fd_gpu_facts {
    uint64_t correlation; /* id of a launch and its work, or
                           * FD_NO_CORRELATION */
    int64_t device;       /* FD_NO_STREAM: absent */
    int64_t stream;       /* or queue; FD_NO_STREAM: absent */
} fd_gpu_facts;

void fd_gpu_facts_read(const fd_timeline_event *event, fd_gpu_facts *facts);

#endif
