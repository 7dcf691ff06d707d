/* One recording: the file and the tables in it, shared by all threads of the
 * process. The trees (tree.h) hold what each thread did.
 *
 * Everything that adds to a shared table takes `lock` for a moment; under it
 * no Python runs and nothing waits for another lock. The hot path takes none.
 */
#ifndef FD_RECORDING_H
#define FD_RECORDING_H

#include "base/clock.h"
#include "recording/event_log.h"
#include "recording/module_table.h"
#include "recording/node_table.h"

#include <pthread.h>

typedef struct fd_limits {
    size_t max_bytes;     /* file and memory together */
    uint32_t max_strings; /* bytes */
    uint32_t max_nodes;
    uint32_t max_modules;
    uint32_t max_contexts;
    size_t max_events;   /* bytes */
    size_t max_jobs;     /* bytes */
    size_t max_op_calls; /* bytes */
} fd_limits;

/* The bounds that follow from max_mb. */
fd_limits fd_limits_of(size_t max_mb);

typedef struct fd_recording {
    fd_file file;
    pthread_mutex_t lock;
    fd_limits limits;
    fd_strings strings;
    fd_nodes nodes;
    fd_modules modules;
    fd_pool threads;       /* fd_thread_record */
    fd_pool meta;          /* fd_meta */
    fd_step *steps;        /* the ring in the file */
    struct fd_tree *trees; /* owned, linked by fd_tree.next */
    fd_timeline timeline;  /* set before the first thread is attached */
    size_t job_bytes;
    size_t op_call_bytes;
    fd_pool schemas; /* fd_schema */
    _Atomic uint32_t contexts;
    uint32_t folded_node;
    uint32_t overflow_node;
} fd_recording;

/* Start a recording under a name in a folder, or in memory when `name` is
 * NULL. The recording that was there before is kept: recording/recording_place.h. */
fd_status fd_recording_open_in(fd_recording **recording,
                               const fd_folder *folder, const char *name,
                               const fd_limits *limits, fd_error *error);

/* The same by a path. */
fd_status fd_recording_open(fd_recording **recording, const char *path,
                            const fd_limits *limits, fd_error *error);

/* What is wanted of the timeline, before the first thread is attached. Its
 * share of the file follows from the limits; a recording in memory has no side
 * file. After a failure the recording has no file any more: free it. */
fd_status fd_recording_plan(fd_recording *recording,
                            const fd_timeline *timeline, fd_error *error);

/* Begin or continue to record at this instant: the file says so. */
void fd_recording_resume(fd_recording *recording);

/* Stop to record at this instant. With `settle` the time of every running
 * thread is brought up to it: no thread may write meanwhile. Without, what each
 * did since its last event is lost, as when the process is killed. */
void fd_recording_pause(fd_recording *recording, bool settle);

/* The same for good. fd_file_finish closes the file. */
void fd_recording_stop(fd_recording *recording, bool settle);

/* Store a fact about the run; `json` is its value as JSON text. */
void fd_recording_note(fd_recording *recording, const char *key,
                       const char *json);

/* What the operator of this name takes and gives. */
void fd_recording_schema(fd_recording *recording, const char *name,
                         const char *text);

/* A node, under the lock. */
uint32_t fd_recording_node(fd_recording *recording, const fd_node_spec *spec,
                           bool *added);
uint32_t fd_recording_module(fd_recording *recording, uint32_t parent,
                             const char *name, const char *class_name);

/* How many elements and bytes the parameters of a module have. */
void fd_recording_measure(fd_recording *recording, uint32_t module,
                          uint64_t parameters, uint64_t bytes);

/* Forget the file: nothing reaches it any more. For a forked child and before
 * the next recording of this process replaces this one. */
void fd_recording_detach(fd_recording *recording);

/* Free everything; no thread may hold a pointer into it. */
void fd_recording_free(fd_recording *recording);

#endif
