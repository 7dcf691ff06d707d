/* The data that a slice of communication transfers, by torch.profiler's
 * arguments: operation, bytes, size of the group. */
#ifndef FD_MESSAGE_SIZES_H
#define FD_MESSAGE_SIZES_H

#include "base/collective_names.h"
#include "events/timeline_event.h"

typedef struct fd_message {
    fd_operation operation; /* 0: unknown, or transfers no data */
    bool sized;
    uint32_t members; /* ranks in the group; 0: unknown */
    uint64_t bytes;   /* as nccl-tests counts them */
} fd_message;

/* Read the arguments of a slice. `name` is its name without quotes. */
void fd_message_read(const fd_timeline_event *event, fd_span name,
                     fd_message *message);

const char *fd_operation_name(fd_operation operation);

/* Return the factor from algorithm bandwidth to bus bandwidth, or 0 if it is
 * unknown. */
double fd_operation_bus(fd_operation operation, uint32_t members);

#endif
