/* What the two halves of the writer share: storing events, writing packets. */
#ifndef FD_PERFETTO_WRITING_H
#define FD_PERFETTO_WRITING_H

#include "events/merged_ids.h"
#include "events/tools/event_sorter.h"
#include "events/writers/native_fields.h"
#include "events/writers/perfetto_counts.h"
#include "streams/output_stream.h"

enum {
    FD_PERFETTO_SERIES = 1 << 16, /* of counters of an input */
    FD_PERFETTO_ROWS = 16 << 20   /* bytes of the texts of rows */
};

typedef struct fd_perfetto_process {
    uint32_t track;  /* 0: none yet */
    uint32_t labels; /* in `stored`; 0: none */
} fd_perfetto_process;

typedef struct fd_perfetto_thread {
    uint32_t track;
    uint32_t process;
    uint32_t name; /* in `stored`; 0: none */
    bool sorted;
    int64_t sort_index;
} fd_perfetto_thread;

/* Of a counter. */
typedef struct fd_perfetto_one_series {
    uint32_t track;
    uint32_t process;
} fd_perfetto_one_series;

/* A track of a native input that is not a thread. */
typedef struct fd_perfetto_named {
    uint32_t track;
    uint32_t parent;  /* a track */
    uint32_t name;    /* in `stored`; 0: none */
    uint32_t rest;    /* in `stored`: other fields of its descriptor */
    uint32_t counter; /* in `stored`: fields of CounterDescriptor */
    bool has_name;    /* which may be empty */
    bool counts;      /* it is of a counter */
    bool described;   /* it is that of a process */
} fd_perfetto_named;

/* A track of a native input, by its place there. */
typedef struct fd_perfetto_place {
    bool known;
    uint32_t process;
    uint32_t lane;
    uint32_t track;
} fd_perfetto_place;

/* A record of the sorter: its kind, then a number (of a slice FD_PERFETTO_LANE,
 * of a mark the track), the duration of a whole slice, and the body of a
 * TrackEvent. */
typedef enum fd_perfetto_what {
    FD_PERFETTO_SLICE,
    FD_PERFETTO_BEGIN,
    FD_PERFETTO_END,
    FD_PERFETTO_INSTANT,
    FD_PERFETTO_COUNTER,
    FD_PERFETTO_LEGACY /* flows, asynchronous events: see the body */
} fd_perfetto_what;

/* The lane of a thread, or of a track that is not one, by their places. */
#define FD_PERFETTO_LANE(place, named) ((uint32_t)(place) << 1 | (named))

struct fd_perfetto_writer {
    fd_bytes_out *out;
    bool nested; /* marks stay in their order among begins and ends */
    fd_perfetto_spare *spare;
    fd_sorter *sorter;
    fd_perfetto_texts texts;
    fd_text_pool stored;
    FD_VECTOR(fd_perfetto_process) processes;   /* by their place in the ids */
    FD_VECTOR(fd_perfetto_thread) threads;      /* the same */
    fd_text_pool series;                        /* process and name */
    FD_VECTOR(fd_perfetto_one_series) counters; /* by their id in `series` */
    FD_VECTOR(fd_perfetto_named) named;
    FD_VECTOR(fd_perfetto_place) places;
    uint32_t global; /* the track of instants of everything; 0: none */
    uint64_t skipped;
    bool waits; /* `record` is not in the sorter yet: flows may follow */
    int64_t time;
    uint64_t second;
    fd_buffer record;
    fd_buffer body;
    fd_buffer scratch;
};

/* The track of a process, and the place of a thread. */
fd_status fd_perfetto_process_track(fd_perfetto_writer *writer,
                                    uint32_t process, uint32_t *track);
fd_status fd_perfetto_thread_of(fd_perfetto_writer *writer,
                                fd_timeline_ids *ids, uint32_t process,
                                fd_span tid, uint32_t *thread);

/* The process, lane and track of a track of a native input; those around it
 * get numbers too. FD_EFULL: too many. */
fd_status fd_perfetto_place_of(fd_perfetto_writer *writer,
                               fd_timeline_ids *ids,
                               const fd_perfetto_tables *tables,
                               const fd_perfetto_track *track,
                               fd_perfetto_place *place);

/* Move the record that waits to the sorter. */
fd_status fd_perfetto_writer_flush(fd_perfetto_writer *writer,
                                   fd_error *error);

#endif
