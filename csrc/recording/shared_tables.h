/* The tables of a recording that all threads of the process share. Each
 * addition takes `lock` briefly; no Python code runs under it and no other
 * lock is acquired. */
#ifndef FD_SHARED_TABLES_H
#define FD_SHARED_TABLES_H

#include "base/clock.h"
#include "recording/event_log.h"
#include "recording/module_table.h"
#include "recording/node_table.h"

#include <pthread.h>

typedef struct fd_limits {
    size_t max_bytes;     /* limit on file and memory together */
    uint32_t max_strings; /* bytes */
    uint32_t max_nodes;
    uint32_t max_modules;
    uint32_t max_contexts;
    size_t max_events;    /* bytes */
    size_t max_jobs;      /* bytes */
    size_t max_op_calls;  /* bytes */
    size_t max_snapshots; /* bytes */
    size_t max_measures;  /* bytes */
} fd_limits;

typedef struct fd_recording {
    fd_file file;
    pthread_mutex_t lock;
    fd_limits limits;
    fd_strings strings;
    fd_nodes nodes;
    fd_modules modules;
    fd_pool threads;       /* pool of fd_thread_record */
    fd_pool meta;          /* pool of fd_meta */
    fd_step *steps;        /* the ring in the file */
    struct fd_tree *trees; /* owned, linked by fd_tree.next */
    fd_timeline timeline;  /* set before the first thread is attached */
    size_t job_bytes;
    size_t op_call_bytes;
    size_t measure_bytes;
    size_t shape_bytes; /* size of the strings */
    fd_pool schemas;    /* pool of fd_schema */
    _Atomic uint32_t contexts;
    uint32_t folded_node;
    uint32_t overflow_node;
} fd_recording;

/* Store a fact about the run; `json` is its value as JSON text. */
void fd_recording_note(fd_recording *recording, const char *key,
                       const char *json);

/* Store the schema text of the operator with this name. */
void fd_recording_schema(fd_recording *recording, const char *name,
                         const char *text);

/* Return the id of a text, or 0 if there is no space. Takes the lock. */
uint32_t fd_recording_text(fd_recording *recording, const char *text);

/* Return the id of a node (fd_nodes_add). Takes the lock. */
uint32_t fd_recording_node(fd_recording *recording, const fd_node_spec *spec,
                           bool *added);
uint32_t fd_recording_module(fd_recording *recording, uint32_t parent,
                             const char *name, const char *class_name);

/* Reserve consecutive records of the pool of a thread, on that thread. The
 * chunks of such pools have a share of the recording: `most` bytes, of which
 * `spent` are used. Return NULL if there is no space. Takes the lock to add a
 * chunk. */
void *fd_recording_reserve(fd_recording *recording, fd_pool *pool,
                           uint32_t count, size_t *spent, size_t most);

/* Set how many elements and bytes the parameters of a module have. */
void fd_recording_measure(fd_recording *recording, uint32_t module,
                          uint64_t parameters, uint64_t bytes);

#endif
