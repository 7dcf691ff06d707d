/* What the two halves of the writer share: taking events, writing packets. */
#ifndef FD_PERFETTO_WRITING_H
#define FD_PERFETTO_WRITING_H

#include "events/tools/event_sorter.h"
#include "events/writers/perfetto_texts.h"
#include "events/writers/perfetto_writer.h"

enum {
    FD_PERFETTO_SERIES = 1 << 16, /* of counters of an input */
    FD_PERFETTO_ROWS = 16 << 20   /* bytes of the texts of rows */
};

typedef struct fd_perfetto_process {
    uint32_t track;  /* 0: none yet */
    uint32_t labels; /* in `said`; 0: none */
} fd_perfetto_process;

typedef struct fd_perfetto_thread {
    uint32_t track;
    uint32_t process;
    uint32_t name; /* in `said`; 0: none */
    bool sorted;
    int64_t sort_index;
} fd_perfetto_thread;

/* Of a counter. */
typedef struct fd_perfetto_one_series {
    uint32_t track;
    uint32_t process;
} fd_perfetto_one_series;

/* A record of the sorter: what, then a number (the thread of a slice, the track
 * of a mark), the duration of a whole slice, and the body of a TrackEvent. */
typedef enum fd_perfetto_what {
    FD_PERFETTO_SLICE,
    FD_PERFETTO_BEGIN,
    FD_PERFETTO_END,
    FD_PERFETTO_INSTANT,
    FD_PERFETTO_COUNTER,
    FD_PERFETTO_LEGACY /* flows, asynchronous events: see the body */
} fd_perfetto_what;

struct fd_perfetto_writer {
    fd_bytes_out *out;
    fd_perfetto_spare *spare;
    fd_sorter *sorter;
    fd_perfetto_texts texts;
    fd_text_pool said;
    FD_VECTOR(fd_perfetto_process) processes;   /* by their place in the ids */
    FD_VECTOR(fd_perfetto_thread) threads;      /* the same */
    fd_text_pool series;                        /* process and name */
    FD_VECTOR(fd_perfetto_one_series) counters; /* by their id in `series` */
    uint32_t global; /* the track of instants of everything; 0: none */
    uint64_t skipped;
    fd_buffer record;
    fd_buffer body;
    fd_buffer scratch;
};

#endif
