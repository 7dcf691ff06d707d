/* Shared declarations of the reader of recordings: recording_reader.c and
 * read_*.c. Reading is one request of an arena (base/arena.h): after a failure,
 * it continues at its begin in recording_reader.c. */
#ifndef FD_RECORDING_READING_H
#define FD_RECORDING_READING_H

#include "base/arena.h"
#include "trace/reader/file_chunks.h"
#include "trace/step_window.h"
#include "trace/trace_part.h"

/* A flow with ids of the file (left) and of the trace (right). */
typedef struct fd_raw_flow {
    uint64_t ends[2]; /* ns; begin of the two calls: from, to */
    uint32_t contexts[2];
    uint16_t threads[2];
} fd_raw_flow;

/* Chunks of events that have not been read yet; their owner can refill them
 * before that. */
typedef FD_VECTOR(const fd_chunk_view *) fd_run_list;

typedef struct fd_reading {
    fd_arena arena;
    fd_chunks file;
    fd_trace *trace;
    fd_trace_rank *rank;
    double ns_per_tick;
    uint64_t alive; /* tick of the latest sign of life of a process that has
                       not stopped; else 0 */
    fd_map nodes;
    fd_map modules;
    /* of the arena: entry 0 unused, then the contexts of the file in order */
    FD_VECTOR(fd_trace_context) raw;
    FD_VECTOR(const fd_context *) records; /* parallel to raw */
    FD_VECTOR(uint32_t) owners;            /* thread id, parallel to raw */
    uint32_t *map;  /* of the arena; raw index -> context of the trace */
    uint32_t lost;  /* raw index of <lost>; 0 before it is needed */
    fd_map threads; /* id of the file -> index of the thread + 1 */
    fd_map jobs;    /* id of the file -> index into rank->jobs + 1 */
    fd_map
        kernels; /* context << 32 | string of the file -> context of the trace */
    FD_VECTOR(fd_raw_flow) flows; /* flows found among the events */
    bool *open; /* of the arena; by raw index: needed for the open calls; NULL:
                 * read all parts */
    fd_trace_part part;
    bool unsorted;                /* do not sort the trace */
    const fd_steps_wanted *steps; /* borrowed; NULL: the settled steps */
} fd_reading;

#define FOR_EACH_CHUNK(r, wanted, view) \
    FOR_EACH_CHUNK_OF (&(r)->file, wanted, view)

/* Every record of a kind. */
#define FOR_EACH_RECORD(r, wanted, type, record) \
    FOR_EACH_RECORD_OF (&(r)->file, wanted, type, record)

/* Add a row to a vector of the trace. */
#define fd_reading_push(r, vector, ...) \
    fd_arena_check(&(r)->arena, fd_vector_push((vector), __VA_ARGS__))

static inline uint32_t
fd_reading_id(const fd_reading *r, const void *record)
{
    return (uint32_t)((size_t)((const char *)record - r->file.base)
                      / FD_ID_UNIT);
}

/* Convert a time to an integer. In a damaged file, invalid times become 0 and
 * too long durations the maximum. */
static inline uint64_t
fd_reading_whole(double ns)
{
    return !(ns > 0) ? 0 : ns >= 0x1p64 ? UINT64_MAX : (uint64_t)(ns + 0.5);
}

/* Return whether the process runs, or was killed. */
static inline bool
fd_reading_is_unfinished(const fd_reading *r)
{
    return r->rank->state == FD_STATE_RUNNING
        || r->rank->state == FD_STATE_KILLED;
}

static inline uint64_t
fd_reading_ns(const fd_reading *r, uint64_t ticks)
{
    return fd_reading_whole((double)ticks * r->ns_per_tick);
}

/* Convert a tick to ns since the start of the recording. */
static inline uint64_t
fd_reading_since_start(const fd_reading *r, uint64_t tick)
{
    uint64_t start = fd_chunks_header(&r->file)->start.ticks;
    return tick > start ? fd_reading_ns(r, tick - start) : 0;
}

/* Convert a start and a duration in ticks. Start and end are rounded, not the
 * duration, so that nested calls are nested in nanoseconds. */
static inline void
fd_reading_span(const fd_reading *r, uint64_t tick, uint64_t ticks,
                uint64_t *start, uint64_t *duration)
{
    uint64_t origin = fd_chunks_header(&r->file)->start.ticks;
    uint64_t since = tick > origin ? tick - origin : 0;
    *start = fd_reading_ns(r, since);
    *duration =
        since + ticks < since ? 0 : fd_reading_ns(r, since + ticks) - *start;
}

/* Convert a sum of squares to an integer, if it is below 2^53: sums over ranks
 * are exact then, in any order. */
static inline double
fd_reading_squares(const fd_reading *r, double ticks)
{
    double squares = ticks * r->ns_per_tick * r->ns_per_tick;
    return squares >= 0 && squares < 0x1p53 ? (double)(int64_t)(squares + 0.5)
                                            : squares;
}

/* Return the index in `raw` of a context of the file, or 0 if the id is
 * invalid. */
static inline uint32_t
fd_reading_raw(const fd_reading *r, uint32_t id)
{
    return fd_chunks_index(&r->file, FD_CHUNK_CONTEXTS, id);
}

/* Return the context of the trace for a context of the file, or 0 if it was
 * skipped. */
static inline uint32_t
fd_reading_context(const fd_reading *r, uint32_t id)
{
    return r->map[fd_reading_raw(r, id)];
}

/* Return the context of kernels with this name, ids of the file, below the
 * context that launches them. */
static inline uint32_t
fd_reading_kernel(const fd_reading *r, uint32_t context, uint32_t name)
{
    return fd_map_get(&r->kernels, (uint64_t)context << 32 | name);
}

/* Return the open stack of a running thread; depth 0 if it is inconsistent. */
const fd_entry *fd_reading_stack(const fd_reading *r,
                                 const fd_thread_record *record,
                                 uint32_t *depth);

typedef struct fd_followed_call {
    uint32_t raw;    /* its context */
    uint32_t parent; /* index of the calling one in a list */
    const fd_entry *entry;
} fd_followed_call;

typedef FD_VECTOR(fd_followed_call) fd_followed_list;

/* Find the followed calls of a thread, the innermost first. Drop the list when
 * it is used. */
fd_followed_list fd_reading_followed(fd_reading *r,
                                     const fd_thread_record *record);

/* Return the tick at which a followed call was opened. */
uint64_t fd_reading_followed_start(const fd_reading *r, const fd_entry *entry);

/* Add a string of the file, without its first `skip` bytes, as a text; 0 if
 * the string is damaged. */
uint32_t fd_reading_text(fd_reading *r, uint32_t id, size_t skip);

/* List the chunks of a kind and owner in the order of writing. */
fd_run_list fd_reading_runs(fd_reading *r, uint32_t kind, uint32_t owner);

/* Add nodes and contexts of the file or of the reader to the trace; return the
 * id. */
uint32_t fd_reading_add_node(fd_reading *r, const fd_trace_node *node);
uint32_t fd_reading_add_context(fd_reading *r,
                                const fd_trace_context *context);

/* Add a node of the file to the trace and to the map. */
void fd_read_node(fd_reading *r, const fd_node *node);

/* Find the contexts that open calls and collectives depend on, and read their
 * nodes, before contexts are linked. */
void fd_read_open_contexts(fd_reading *r);

/* Readers of the parts, in this order. */
void fd_read_shared(fd_reading *r);    /* nodes and modules */
void fd_read_contexts(fd_reading *r);  /* the tree and its figures */
void fd_read_threads(fd_reading *r);   /* threads and their open calls */
void fd_read_snapshots(fd_reading *r); /* marks and selected steps */
void fd_read_jobs(fd_reading *r);
void fd_read_flow(fd_reading *r, const fd_event *event, uint16_t thread);
void fd_read_flows(fd_reading *r);  /* flows, after all events */
void fd_read_events(fd_reading *r); /* the timeline, if requested */
/* kernels: nodes, contexts, GPU figures, and if requested events */
void fd_read_kernels(fd_reading *r);
/* without kernels, GPU figures of intervals; if requested, intervals */
void fd_read_gpu(fd_reading *r);
void fd_read_gpu_events(fd_reading *r, uint32_t kind);
void fd_read_measures(fd_reading *r);

#endif
