/* Shared declarations of the reader of recordings: recording_reader.c and
 * read_*.c. */
#ifndef FD_RECORDING_READING_H
#define FD_RECORDING_READING_H

#include "base/map.h"
#include "trace/reader/file_chunks.h"
#include "trace/step_window.h"
#include "trace/trace_part.h"

/* Ids of the file on the left, of the trace on the right. */
typedef struct fd_raw_flow {
    uint64_t ends[2]; /* ns; where the two calls begin: from, to */
    uint32_t contexts[2];
    uint16_t threads[2];
} fd_raw_flow;

/* A chunk of events that has not been read yet; its owner may refill it before
 * that. */
typedef struct fd_run {
    fd_chunks *of;
    const fd_chunk_view *view;
} fd_run;

typedef FD_VECTOR(fd_run) fd_run_list;

typedef struct fd_reading {
    fd_chunks file;
    fd_chunks spill;  /* the side file; zero without */
    fd_error trouble; /* why it is missing or incomplete; "": it is complete */
    uint64_t missing; /* events for that reason */
    fd_trace *trace;
    fd_trace_rank *rank;
    double ns_per_tick;
    fd_map nodes;
    fd_map modules;
    FD_VECTOR(fd_trace_context)
    raw; /* entry 0, then the contexts of the file
                                        in order */
    FD_VECTOR(const fd_context *) records; /* parallel to raw */
    FD_VECTOR(uint32_t) owners;            /* thread id, parallel to raw */
    uint32_t *map;  /* owned; raw index -> context of the trace */
    uint32_t lost;  /* raw index of <lost>, 0 before it is needed */
    fd_map threads; /* file id -> place among the threads, plus 1 */
    fd_map jobs;    /* file id -> index into rank->jobs, plus 1 */
    FD_VECTOR(fd_raw_flow) flows; /* found among the events */
    bool *open; /* owned; raw index -> needed for the open calls; NULL: all
                   parts are read */
    fd_trace_part part;
    bool unsorted;                /* the trace */
    const fd_steps_wanted *steps; /* borrowed; NULL: the settled ones */
} fd_reading;

/* Every chunk of a kind; `view` walks them. Without chunks `list` is NULL, and
 * arithmetic on NULL is undefined. */
#define FOR_EACH_CHUNK_OF(chunks, wanted, view) \
    for (const fd_chunk_view *view = (chunks)->list.list; \
         view != NULL && view < (chunks)->list.list + (chunks)->list.count; \
         view++) \
        if (view->header.kind == (wanted))
#define FOR_EACH_CHUNK(r, wanted, view) \
    FOR_EACH_CHUNK_OF(&(r)->file, wanted, view)

static inline uint32_t
fd_reading_id(const fd_reading *r, const void *record)
{
    return (uint32_t)((size_t)((const char *)record - r->file.base)
                      / FD_ID_UNIT);
}

/* Times of a damaged file: invalid ones become 0, too long durations the
 * maximum. */
static inline uint64_t
fd_reading_whole(double ns)
{
    return !(ns > 0) ? 0 : ns >= 0x1p64 ? UINT64_MAX : (uint64_t)(ns + 0.5);
}

static inline uint64_t
fd_reading_ns(const fd_reading *r, uint64_t ticks)
{
    return fd_reading_whole((double)ticks * r->ns_per_tick);
}

/* The index of a context of the file in `raw`; 0 if the id is not valid. */
static inline uint32_t
fd_reading_raw(const fd_reading *r, uint32_t id)
{
    return fd_chunks_place(&r->file, FD_CHUNK_CONTEXTS, id);
}

/* The trace's context for one of the file, 0 if it was skipped. */
static inline uint32_t
fd_reading_context(const fd_reading *r, uint32_t id)
{
    return r->map[fd_reading_raw(r, id)];
}

/* The open stack of a running thread; depth 0 if it is inconsistent. */
const fd_entry *fd_reading_stack(const fd_reading *r,
                                 const fd_thread_record *record,
                                 uint32_t *depth);

/* The trace's text for a string of the file, without its first `skip` bytes;
 * 0 when the string is damaged. */
fd_status fd_reading_text(fd_reading *r, uint32_t id, size_t skip,
                          uint32_t *to);

/* The chunks of a kind and owner, of both files, in the order of writing. */
fd_status fd_reading_runs(fd_reading *r, uint32_t kind, uint32_t owner,
                          fd_run_list *runs);

/* Open the side file of the recording at `path`: before the recording itself,
 * so that a live writer's events refer to what will be found there. NULL: its
 * bytes, which may be none. Then, when the recording is open: see that it is
 * the right one. FD_ENOMEM is the only failure. */
fd_status fd_spill_open(fd_reading *r, const char *path, const void *base,
                        size_t size);
fd_status fd_spill_settle(fd_reading *r, const char *path);

/* How many of the `written` events of an owner were in missing parts of the
 * side file; `runs` are those found. */
uint64_t fd_spill_missing(fd_reading *r, uint64_t written,
                          const fd_run_list *runs);

/* Add a node of the file to the trace and to the map. */
fd_status fd_read_node(fd_reading *r, const fd_node *node);

/* Find the contexts that open calls and collectives depend on, and read their
 * nodes: before contexts are linked. */
fd_status fd_read_open_contexts(fd_reading *r);

/* The parts, in the order of reading. */
fd_status fd_read_shared(fd_reading *r);    /* nodes and modules */
fd_status fd_read_contexts(fd_reading *r);  /* the tree with its figures */
fd_status fd_read_threads(fd_reading *r);   /* and what they had open */
fd_status fd_read_snapshots(fd_reading *r); /* marks and selected steps */
fd_status fd_read_jobs(fd_reading *r);
fd_status fd_read_flow(fd_reading *r, const fd_event *event, uint16_t thread);
fd_status fd_read_flows(fd_reading *r);  /* found flows, after all events */
fd_status fd_read_events(fd_reading *r); /* if the timeline is requested */
fd_status fd_read_gpu(fd_reading *r);    /* the same for its lines */

fd_status fd_read_measures(fd_reading *r);

#endif
