/* Declarations shared by the parts of the native writer: storing events,
 * writing packets. */
#ifndef FD_PERFETTO_WRITING_H
#define FD_PERFETTO_WRITING_H

#include "events/merged_ids.h"
#include "events/tools/event_sorter.h"
#include "events/writers/perfetto_packets.h"
#include "events/writers/perfetto_texts.h"
#include "streams/output_stream.h"

typedef struct fd_perfetto_process {
    uint32_t track;  /* 0: no track yet */
    uint32_t labels; /* in `stored`; 0: no labels */
} fd_perfetto_process;

typedef struct fd_perfetto_thread {
    uint32_t track;
    uint32_t process;
    bool beside;   /* a track of the process, not a thread */
    uint64_t uses; /* number of its slices */
    uint32_t name; /* in `stored`; 0: no name */
    bool sorted;
    int64_t sort_index;
} fd_perfetto_thread;

/* A series of a counter. */
typedef struct fd_perfetto_one_series {
    uint32_t track;
    uint32_t process;
} fd_perfetto_one_series;

/* A record of the sorter: its kind, a number (the thread of a slice, else the
 * track), the duration of a complete slice, and the body of a TrackEvent. */
typedef enum fd_perfetto_what {
    FD_PERFETTO_SLICE,
    FD_PERFETTO_BEGIN,
    FD_PERFETTO_END,
    FD_PERFETTO_INSTANT,
    FD_PERFETTO_COUNTER,
    FD_PERFETTO_LEGACY /* flows and asynchronous events: the body has
                        * the type */
} fd_perfetto_what;

/* Data of an input, without its events. */
typedef struct fd_perfetto_input {
    fd_arena arena; /* memory of the lists; failures while an input is stored
                     * and written */
    fd_perfetto_texts texts;
    fd_text_pool stored;                      /* names and labels */
    FD_VECTOR(fd_perfetto_process) processes; /* by index in the ids */
    FD_VECTOR(fd_perfetto_thread) threads;    /* by index in the ids */
    /* a text is a process and a name */
    fd_text_pool series;
    FD_VECTOR(fd_perfetto_one_series) counters; /* by index in `series` */
    uint32_t global; /* track of global instants; 0: no track yet */
    uint64_t skipped;
} fd_perfetto_input;

struct fd_perfetto_writer {
    fd_buffer *to;     /* borrowed */
    fd_bytes_out *out; /* borrowed; NULL: all output stays in `to` */
    fd_perfetto_spare *spare;
    fd_sorter *sorter;
    fd_perfetto_input in;
    fd_buffer record; /* of the current event */
    fd_buffer scratch;
    /* the current event */
    const fd_timeline_event *event;
    fd_timeline_ids *ids;
    uint32_t process;
    uint32_t thread; /* of a slice; see find_track */
    uint32_t track;  /* of an instant or counter; see find_track */
};

/* Find or add the track of a process. */
uint32_t fd_perfetto_process_track(fd_perfetto_writer *writer,
                                   uint32_t process);

/* Free the data of the input. */
void fd_perfetto_forget(fd_perfetto_writer *writer);
#endif
