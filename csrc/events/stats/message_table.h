/* Bytes and bandwidths of communication, by operation, size of the group, and
 * group. The size of a kernel is in its own arguments, or in the arguments of
 * the range `nccl:...` that launched it. */
#ifndef FD_MESSAGE_TABLE_H
#define FD_MESSAGE_TABLE_H

#include "events/stats/message_sizes.h"
#include "events/stats/stream_table.h"

enum { FD_MESSAGES = 1 << 20 };

/* Sources of the size of a transfer; the first one that has it is used. */
typedef enum fd_message_level {
    FD_MESSAGE_KERNEL,  /* a kernel on a GPU */
    FD_MESSAGE_BACKEND, /* gloo:all_reduce, or nccl:all_reduce
                         * around launches */
    FD_MESSAGE_CALL,    /* record_param_comms */
    FD_MESSAGE_LEVELS
} fd_message_level;

typedef struct fd_message_slice {
    fd_message message;
    uint64_t correlation; /* correlation id of a kernel */
    int64_t start;
    int64_t end;
    uint32_t rank;
    uint32_t thread;
    uint32_t group; /* index of a text of the caller */
    fd_message_level level;
    bool launches; /* a range around launches: its duration is not that of the
                   * transfer */
    uint64_t kernel; /* ns of the kernels launched in it */
} fd_message_slice;

typedef struct fd_message_row {
    fd_operation operation;
    uint32_t members;
    uint32_t group;
    uint64_t count;
    uint64_t unsized; /* transfers of unknown size */
    uint64_t bytes;
    uint64_t timed; /* transfers with known size and duration */
    uint64_t timed_bytes;
    uint64_t time;
    fd_digest rate; /* bytes per second of each transfer */
} fd_message_row;

typedef struct fd_messages {
    FD_VECTOR(fd_message_slice) list; /* transfers of the files being read */
    uint64_t left_out;                /* transfers beyond FD_MESSAGES */
    FD_VECTOR(fd_message_row) rows;
} fd_messages;

void fd_messages_clear(fd_messages *messages);
fd_status fd_messages_add(fd_messages *messages,
                          const fd_message_slice *transfer);

/* Add the rows of some files after their last event, and remove the transfers.
 * `streams` has the launches of these files, sorted. */
fd_status fd_messages_finish(fd_messages *messages,
                             const fd_stream_table *streams);

#endif
