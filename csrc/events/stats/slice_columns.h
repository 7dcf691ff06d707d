/* The columns of slices in rows of events: processes, threads and texts by
 * their numbers, kinds, facts of jobs, collectives and GPU work. Python decides
 * on kinds by the texts of slices (read/slice_kinds.py), once for each subject. */
#ifndef FD_SLICE_COLUMNS_H
#define FD_SLICE_COLUMNS_H

#include "base/vector.h"
#include "events/stats/event_row.h"
#include "events/timeline_event.h"
#include "trace/interned_texts.h"

enum {
    FD_SLICES_NAMES = 1 << 16, /* number of texts; later ones are replaced by
                                * "(other)" */
    FD_SLICES_THREADS = 1 << 16
};

/* What slices of one subject have in common. */
typedef struct fd_slice_kind {
    uint32_t kind;  /* FD_IS_..., and other bits for Python */
    uint32_t flags; /* FD_ROW_..., of begins and complete slices */
    int64_t step;   /* number of a step, or at the end of an annotation; else
                     * FD_NO_STEP */
    uint32_t end;   /* bytes at the end of the name that are not of its type */
} fd_slice_kind;

/* Set the kind of a subject: category, name of the thread, "Task Type",
 * whether there are "step_num" and "Collective name", and name, with NULs
 * between them. Returning false stops reading with FD_EINVAL. */
typedef bool fd_kind_of_slice(void *context, fd_span subject,
                              fd_slice_kind *kind);

typedef struct fd_slice_subject {
    fd_slice_kind of;
    uint32_t category;
    uint32_t name;
    uint32_t type;
} fd_slice_subject;

typedef struct fd_slice_texts {
    fd_kind_of_slice *kind_of; /* set by the caller, with its context */
    void *context;
    fd_text_pool pids;
    fd_text_pool threads; /* a text is a process and a tid */
    fd_text_pool texts;
    fd_text_pool subjects;
    FD_VECTOR(fd_slice_subject) kinds; /* of subjects */
    FD_VECTOR(uint32_t) names;         /* of threads so far, in `titles` */
    fd_text_pool titles;
    fd_buffer scratch;
} fd_slice_texts;

void fd_slice_texts_clear(fd_slice_texts *texts);

/* Set the columns from `match` up to `group`, `flags` by the kind, and `number`
 * of a step, a launch or its work. */
fd_status fd_slice_columns_fill(fd_slice_texts *texts,
                                const fd_timeline_event *event,
                                fd_event_row *row);

#endif
