/* The columns of slices in rows of events: processes, threads and texts by
 * their numbers, kinds, facts of jobs and collectives. */
#ifndef FD_SLICE_COLUMNS_H
#define FD_SLICE_COLUMNS_H

#include "base/vector.h"
#include "events/slice_kinds.h"
#include "events/stats/event_row.h"
#include "trace/interned_texts.h"

enum {
    FD_SLICES_NAMES = 1 << 16, /* number of texts; later ones are replaced by
                                * "(other)" */
    FD_SLICES_THREADS = 1 << 16
};

typedef struct fd_slice_texts {
    fd_text_pool pids;
    fd_text_pool threads;         /* a text is a process and a tid */
    FD_VECTOR(fd_xla_thread) xla; /* of threads, by their names so far */
    fd_text_pool texts;
    fd_buffer scratch;
} fd_slice_texts;

void fd_slice_texts_clear(fd_slice_texts *texts);

/* Set the columns from `match` up to `group`, and `number` of a launch or its
 * work. */
fd_status fd_slice_columns_fill(fd_slice_texts *texts,
                                const fd_timeline_event *event,
                                fd_event_row *row);

#endif
