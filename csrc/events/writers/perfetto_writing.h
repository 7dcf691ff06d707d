/* Declarations shared by the parts of the native writer: storing events,
 * writing packets. */
#ifndef FD_PERFETTO_WRITING_H
#define FD_PERFETTO_WRITING_H

#include "events/merged_ids.h"
#include "events/tools/event_sorter.h"
#include "events/writers/native_fields.h"
#include "events/writers/perfetto_counts.h"
#include "streams/output_stream.h"

enum {
    FD_PERFETTO_SERIES = 1 << 16, /* counter series per input */
    FD_PERFETTO_ROWS = 16 << 20   /* bytes of stored names and labels */
};

typedef struct fd_perfetto_process {
    uint32_t track;  /* 0: no track yet */
    uint32_t labels; /* in `stored`; 0: no labels */
} fd_perfetto_process;

typedef struct fd_perfetto_thread {
    uint32_t track;
    uint32_t process;
    uint32_t name; /* in `stored`; 0: no name */
    bool sorted;
    int64_t sort_index;
} fd_perfetto_thread;

/* A series of a counter. */
typedef struct fd_perfetto_one_series {
    uint32_t track;
    uint32_t process;
} fd_perfetto_one_series;

/* A track of a native input other than a thread. */
typedef struct fd_perfetto_named {
    uint32_t track;
    uint32_t parent;  /* track number of the parent */
    uint32_t name;    /* in `stored`; 0: no name */
    uint32_t rest;    /* in `stored`: other fields of its TrackDescriptor */
    uint32_t counter; /* in `stored`: fields of its CounterDescriptor */
    bool has_name;    /* the name may be empty */
    bool counts;      /* the track is a counter */
    bool described;   /* the track of a process */
} fd_perfetto_named;

/* A track of a native input, by its index there. */
typedef struct fd_output_track {
    bool known;
    uint32_t process;
    uint32_t lane;
    uint32_t track;
} fd_output_track;

/* A record of the sorter: its kind, a number (FD_PERFETTO_LANE of a slice, the
 * track of an instant or counter), the duration of a complete slice, and the
 * body of a TrackEvent. */
typedef enum fd_perfetto_what {
    FD_PERFETTO_SLICE,
    FD_PERFETTO_BEGIN,
    FD_PERFETTO_END,
    FD_PERFETTO_INSTANT,
    FD_PERFETTO_COUNTER,
    FD_PERFETTO_LEGACY /* flows and asynchronous events: the body has
                        * the type */
} fd_perfetto_what;

/* The lane of a thread or of a named track, by its index. */
#define FD_PERFETTO_LANE(index, named) ((uint32_t)(index) << 1 | (named))

struct fd_perfetto_writer {
    fd_bytes_out *out;
    bool nested; /* instants and counters keep their order among begins and
                  * ends */
    fd_perfetto_spare *spare;
    fd_sorter *sorter;
    fd_perfetto_texts texts;
    fd_text_pool stored;
    FD_VECTOR(fd_perfetto_process) processes; /* by index in the ids */
    FD_VECTOR(fd_perfetto_thread) threads;    /* by index in the ids */
    /* a text is a process and a name */
    fd_text_pool series;
    FD_VECTOR(fd_perfetto_one_series) counters; /* by index in `series` */
    FD_VECTOR(fd_perfetto_named) named;
    FD_VECTOR(fd_output_track) outputs;
    uint32_t global; /* track of global instants; 0: no track yet */
    uint64_t skipped;
    bool waits; /* `record` is not in the sorter yet: flows may be added
                 * to it */
    int64_t time;
    uint64_t second;
    fd_buffer record;
    fd_buffer body;
    fd_buffer scratch;
};

/* Find or add the track of a process. */
fd_status fd_perfetto_process_track(fd_perfetto_writer *writer,
                                    uint32_t process, uint32_t *track);
fd_status fd_perfetto_thread_of(fd_perfetto_writer *writer,
                                fd_timeline_ids *ids, uint32_t process,
                                fd_span tid, uint32_t *thread);

/* Find the process, lane and track of a track of a native input; its ancestors
 * get track numbers too. FD_EFULL: too many. */
fd_status fd_output_track_of(fd_perfetto_writer *writer, fd_timeline_ids *ids,
                             const fd_perfetto_tables *tables,
                             const fd_perfetto_track *track,
                             fd_output_track *output);

/* Move the pending record to the sorter. */
fd_status fd_perfetto_writer_flush(fd_perfetto_writer *writer,
                                   fd_error *error);

#endif
