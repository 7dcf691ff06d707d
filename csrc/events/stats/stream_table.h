/* Streams of GPUs: idle time and its causes, delays between launches and
 * their work. Launches and work are matched by correlation id, so
 * both stay in memory until the files of the rank are read. */
#ifndef FD_STREAM_TABLE_H
#define FD_STREAM_TABLE_H

#include "events/stats/busy_intervals.h"
#include "events/stats/duration_digest.h"
#include "events/stats/gpu_facts.h"

enum {
    FD_GPU_EVENTS = 1 << 21,    /* maximum of launches, and of activities */
    FD_GPU_KERNEL_WAIT = 30000, /* ns: longer gaps are other idle time */
};

typedef struct fd_gpu_launch {
    uint64_t correlation;
    int64_t start;
    int64_t end;
    uint32_t rank;
    uint32_t process;
    uint32_t group; /* as in the activities that it launches */
    uint32_t thread;
    bool started;
    int64_t first; /* start of its first work, once `started` */
} fd_gpu_launch;

typedef struct fd_gpu_activity {
    uint64_t correlation;
    int64_t start;
    int64_t end;
    int64_t device; /* FD_NO_STREAM: absent */
    int64_t stream; /* FD_NO_STREAM: absent; `thread` is the stream */
    uint32_t rank;
    uint32_t thread;
    uint32_t process;
    uint32_t group; /* of processes with the same ids of launches */
} fd_gpu_activity;

typedef struct fd_stream_row {
    uint32_t rank;
    int64_t device; /* FD_NO_STREAM: absent */
    int64_t stream;
    uint64_t count;
    uint64_t launched; /* activities whose launch is in the trace */
    int64_t first;
    int64_t last;
    int64_t busy;
    int64_t host_wait;   /* idle ns before work that was launched after the
                          * previous work ended */
    int64_t kernel_wait; /* idle ns in gaps below FD_GPU_KERNEL_WAIT */
    int64_t other;
} fd_stream_row;

/* Launches of a rank and the start of their first work: a graph launch starts
 * many kernels. */
typedef struct fd_gpu_delays {
    uint32_t rank;
    fd_digest delay; /* from the end of the call to the start of its work */
    fd_digest call;
    uint64_t early;    /* launches whose work began before the call */
    int64_t skew;      /* ns: the largest time by which it did */
    uint64_t repeated; /* launches with the correlation of an earlier one */
} fd_gpu_delays;

/* Called for each activity whose launch is in the trace. */
typedef void fd_launch_pair(void *context, const fd_gpu_launch *launch,
                            const fd_gpu_activity *activity);

typedef struct fd_stream_table {
    FD_VECTOR(fd_gpu_launch) launches; /* of the files being read */
    FD_VECTOR(fd_gpu_activity) activities;
    uint64_t left_out; /* events beyond FD_GPU_EVENTS */
    FD_VECTOR(fd_stream_row) rows;
    FD_VECTOR(fd_gpu_delays) delays;
    uint32_t last; /* index of the row of the last launch */
} fd_stream_table;

void fd_stream_table_clear(fd_stream_table *streams);

fd_status fd_stream_table_launch(fd_stream_table *streams,
                                 const fd_gpu_launch *launch);
fd_status fd_stream_table_activity(fd_stream_table *streams,
                                   const fd_gpu_activity *activity);

/* Add the rows of the stored events, and remove the events. `take` may be
 * NULL. */
fd_status fd_stream_table_finish(fd_stream_table *streams,
                                 fd_launch_pair *take, void *context);

#endif
