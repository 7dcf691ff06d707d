/* What a slice of communication transfers: operation, bytes, size of the
 * group, from torch.profiler's arguments. */
#ifndef FD_MESSAGE_SIZES_H
#define FD_MESSAGE_SIZES_H

#include "base/collective_names.h"
#include "events/timeline_event.h"

typedef struct fd_message {
    fd_operation operation; /* none: unknown, or without data */
    bool sized;
    uint32_t members; /* of the group; 0: not given */
    uint64_t bytes;   /* as nccl-tests counts them */
} fd_message;

/* `name` of the slice, without quotes. */
void fd_message_read(const fd_timeline_event *event, fd_span name,
                     fd_message *message);

const char *fd_operation_name(fd_operation operation);

/* The bus bandwidth in units of the algorithm bandwidth; 0: unknown. */
double fd_operation_bus(fd_operation operation, uint32_t members);

#endif
