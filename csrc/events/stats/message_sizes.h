/* What a slice of communication transfers: operation, bytes, size of the
 * group, from torch.profiler's arguments. */
#ifndef FD_MESSAGE_SIZES_H
#define FD_MESSAGE_SIZES_H

#include "events/timeline_event.h"

typedef enum fd_operation {
    FD_OPERATION_NONE, /* unknown, or without data */
    FD_ALL_REDUCE,
    FD_ALL_GATHER,
    FD_REDUCE_SCATTER,
    FD_ALL_TO_ALL,
    FD_BROADCAST,
    FD_REDUCE,
    FD_GATHER,
    FD_SCATTER,
    FD_SEND,
    FD_RECEIVE
} fd_operation;

typedef struct fd_message {
    fd_operation operation;
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
