/* Bytes and bandwidths of communication, by operation, size of the group, and
 * group. A kernel has its bytes in its own arguments, or in those of the range
 * `nccl:...` in which it was launched. */
#ifndef FD_MESSAGE_TABLE_H
#define FD_MESSAGE_TABLE_H

#include "events/stats/message_sizes.h"
#include "events/stats/stream_table.h"

enum { FD_MESSAGES = 1 << 20 };

/* Where a transfer is found; the first of these that has bytes counts. */
typedef enum fd_message_level {
    FD_MESSAGE_KERNEL,  /* on a GPU */
    FD_MESSAGE_BACKEND, /* gloo:all_reduce; nccl:all_reduce around launches */
    FD_MESSAGE_CALL,    /* record_param_comms */
    FD_MESSAGE_LEVELS
} fd_message_level;

typedef struct fd_message_slice {
    fd_message message;
    uint64_t correlation; /* of a kernel */
    int64_t start;
    int64_t end;
    uint32_t rank;
    uint32_t thread;
    uint32_t group; /* text of the caller */
    fd_message_level level;
    bool
        launches; /* a range around launches: its time is not the transfer's */
    uint64_t kernel; /* ns of the kernels that it launched */
} fd_message_slice;

typedef struct fd_message_row {
    fd_operation operation;
    uint32_t members;
    uint32_t group;
    uint64_t count;
    uint64_t unsized; /* of these */
    uint64_t bytes;
    uint64_t timed; /* with bytes and the time of the transfer */
    uint64_t timed_bytes;
    uint64_t time;
    fd_digest rate; /* bytes per second of each */
} fd_message_row;

typedef struct fd_messages {
    FD_VECTOR(fd_message_slice) list; /* of the files being read */
    uint64_t left_out;                /* beyond FD_MESSAGES */
    FD_VECTOR(fd_message_row) rows;
} fd_messages;

void fd_messages_clear(fd_messages *messages);
fd_status fd_messages_add(fd_messages *messages,
                          const fd_message_slice *transfer);

/* After the last event of some files: add their rows, drop the transfers.
 * `streams`: its launches, sorted. */
fd_status fd_messages_finish(fd_messages *messages,
                             const fd_stream_table *streams);

#endif
