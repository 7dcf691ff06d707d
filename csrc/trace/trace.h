/* A trace: recordings in memory, the input of all outputs.
 *
 *     nodes     functions, operators, ...       shared by all ranks
 *     modules   nn.Module instances             shared
 *     contexts  the tree of call paths          shared
 *     ranks     the recorded processes, with the figures of each context
 *
 * One recording is a trace with one rank; a merge has several. Index 0 of
 * nodes, modules and contexts is "none". A parent's index is lower than its
 * children's. Times are nanoseconds. Thread-compatible, no Python.
 */
#ifndef FD_TRACE_H
#define FD_TRACE_H

#include "base/buffer.h"
#include "recording/measures/measure_format.h"
#include "trace/interned_texts.h"

#include <stdbool.h>

typedef struct fd_trace_node {
    uint8_t kind;   /* FD_NODE_* */
    uint8_t from;   /* FD_FROM_* */
    bool ambiguous; /* another line has the same key; fd_trace_sort sets it */
    uint32_t file;  /* texts; `file` without the part that differs between
                     * hosts */
    uint32_t class_name;
    uint32_t name;
    uint32_t qualified;
    uint32_t package;
    uint32_t line;
} fd_trace_node;

typedef struct fd_trace_module {
    uint32_t parent;
    uint32_t name; /* below the parent: "blocks.3" */
    uint32_t class_name;
    uint64_t parameters; /* number of elements, with modules below; maximum
                          * over ranks; 0: none or unknown */
    uint64_t parameter_bytes;
} fd_trace_module;

typedef struct fd_trace_context {
    uint32_t parent;
    uint32_t node;
    uint32_t module;
    uint32_t origin;
    uint32_t flags; /* FD_CONTEXT_* */
} fd_trace_context;

/* The figures of one context on one rank. The spread is over the steps in
 * which it was active: sums of squares in ns^2. */
typedef struct fd_figure {
    uint32_t context;
    uint32_t steps;
    uint32_t last_step;
    uint64_t calls;
    uint64_t resumes;
    uint64_t self;
    uint64_t stepped; /* self time within ended steps */
    uint64_t self_min;
    uint64_t self_max;
    uint64_t total_min;
    uint64_t total_max;
    double self_squares;
    double total_squares;
} fd_figure;

/* The minimum and the maximum of a figure over ranks, each with the first rank
 * that has it. */
typedef struct fd_rank_range {
    uint64_t min;
    uint64_t max;
    uint32_t min_rank;
    uint32_t max_rank;
} fd_rank_range;

/* One context over many ranks, in a trace whose ranks are summed. `squares`
 * are as in fd_figure. */
typedef struct fd_rank_spread {
    uint32_t context;
    uint32_t ranks; /* number of ranks that have figures of the context */
    fd_rank_range calls;
    fd_rank_range self;
    fd_rank_range total;
    uint64_t self_median;
    uint64_t self_p95;
    uint64_t total_median;
    uint64_t total_p95;
    uint64_t least;      /* self time of the fastest step, times the number of
                          * steps */
    uint64_t late;       /* self time that steady figures lack, ... */
    double late_squares; /* ... and squares */
} fd_rank_spread;

/* The GPU figures of one context, in sampled steps (docs/guides/gpu.md): of
 * kernels, or without those of intervals. */
typedef struct fd_gpu_figure {
    uint32_t context;
    uint64_t calls;        /* kernels, or calls with an interval */
    uint64_t total;        /* ns of them */
    uint64_t self;         /* total minus inner intervals on the same stream */
    uint64_t starved;      /* ns of idle GPUs while the host ran the context */
    uint64_t drained;      /* ns of idle times that began while it ran */
    uint64_t launch_bound; /* number of launch-bound intervals */
    /* Of kernels, copies and fills: */
    uint64_t bytes;
    uint32_t device; /* number + 1, like the next; 0: several, or intervals */
    uint32_t stream;
} fd_gpu_figure;

/* A measured figure of one context; sorted by context, kind, flags and the
 * text of the detail, each combination once. Measures of FD_MEASURE_LATEST are
 * also sorted by count and have begin and end as sum and max, in ns since the
 * start. In a sum of ranks, `range` is that of `sum` over `ranks` ranks; of
 * FD_MEASURE_COMM of the larger of `sum` and `other`. */
typedef struct fd_trace_measure {
    uint32_t context;
    uint32_t kind;   /* FD_MEASURE_* */
    uint32_t flags;  /* FD_MEASURE_ASYNC, ... */
    uint32_t detail; /* text */
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint64_t other;
    uint32_t ranks; /* 0: no range */
    fd_rank_range range;
} fd_trace_measure;

/* A GPU interval or kernel in the timeline of a stream. */
typedef struct fd_trace_gpu_event {
    uint64_t host;  /* ns since the start of the recording: its launch ... */
    uint64_t start; /* ... and when the GPU began */
    uint64_t duration;
    uint64_t bytes;       /* of a copy or fill */
    uint64_t call;        /* ns that the call of CUDA took; 0: not known */
    uint32_t context;     /* of the call of an interval, or of the kernel */
    uint32_t launcher;    /* context that ran at the launch */
    uint32_t correlation; /* number of the call of CUDA */
    uint32_t
        function; /* see fd_launch_function; 0: an interval, or not known */
    uint32_t stream;
    uint16_t thread; /* thread that launched it */
    uint16_t device;
} fd_trace_gpu_event;

/* A call that was open when the recording ended or was read. */
typedef struct fd_open_call {
    uint32_t thread; /* index into the rank's threads */
    uint32_t context;
    uint64_t age;  /* ns since it was opened */
    uint32_t line; /* that it executes; 0: unknown. Not dumped */
} fd_open_call;

typedef struct fd_trace_thread {
    uint32_t role; /* text */
    uint32_t system_id;
    uint32_t root; /* context */
    bool running;
    uint64_t served;  /* number of threads that had this role one after the
                       * other */
    uint64_t covered; /* ns between their starts and ends */
    uint64_t self;    /* sum of self over its tree; equal to covered */
    uint64_t events;  /* events of the timeline, stored or lost */
    uint64_t events_lost;
    uint64_t cpu;          /* ns of CPU time; 0: unknown */
    uint64_t covered_from; /* `covered` at the beginning of the selected
                            * steps */
    uint64_t covered_to;   /* `covered` at their end */
    uint64_t cpu_from;
    uint64_t cpu_to;
    uint64_t last;  /* ns since the start of the recording: the latest event of
                    * a running thread */
    uint64_t still; /* ns for which it had not run when it was last seen */
    uint32_t waits; /* FD_WAIT_* */
} fd_trace_thread;

/* The end of a step at which figures of all contexts are known. */
typedef struct fd_trace_mark {
    uint64_t number;            /* number of the step */
    uint64_t steps;             /* number of ended steps, including this one */
    uint64_t end;               /* ns since the start of the recording */
    uint64_t recorded;          /* ns recorded up to this end */
    uint64_t phases[FD_PHASES]; /* self time of stepping threads so far */
    uint64_t queued; /* ns for which the stepping thread had no CPU; 0:
                      * unknown */
    uint64_t memory; /* bytes in RAM; 0: unknown */
} fd_trace_mark;

/* The figures of one context at a mark. */
typedef struct fd_mark_figure {
    uint32_t context;
    uint32_t steps; /* this and the next as in fd_figure */
    uint64_t calls;
    uint64_t resumes;
    uint64_t self;
    double self_squares;
    double total_squares;
} fd_mark_figure;

/* The selected steps of a rank: after one mark, up to another. */
typedef struct fd_step_window {
    uint32_t from; /* index of a mark + 1; 0: the start of the recording */
    uint32_t to;   /* index of a mark + 1; 0: no steps are selected */
    FD_VECTOR(fd_mark_figure) figures_from; /* by context, each once */
    FD_VECTOR(fd_mark_figure) figures_to;
    bool applied; /* the figures of the rank were reduced to these steps */
} fd_step_window;

typedef struct fd_trace_step {
    uint64_t number;
    uint64_t begin; /* ns since the start of the recording */
    uint64_t end;
    uint64_t phases[FD_PHASES]; /* self time of the stepping thread */
    uint64_t communicated;      /* bytes of all threads, plus 1; 0: not
                                   measured */
    uint64_t live;              /* bytes at its end, in the same form */
} fd_trace_step;

/* An event of the timeline. */
typedef struct fd_trace_event {
    uint64_t start; /* ns since the start of the recording */
    uint64_t duration;
    uint32_t context; /* FD_EVENT_STEP: number of the step; FD_EVENT_JOB: index
                       * into the rank's jobs */
    uint16_t thread;  /* index into the rank's threads */
    uint16_t kind;    /* FD_EVENT_*, or FD_EVENT_OPEN */
} fd_trace_event;

/* A call that had not ended; its duration is its age. It does not occur in
 * files. */
enum { FD_EVENT_OPEN = 255 };

/* What torch.profiler calls the "Record function id" of a call. */
typedef struct fd_trace_record {
    uint32_t event; /* index into the rank's events */
    uint64_t id;
} fd_trace_record;
static inline bool
fd_event_has_context(const fd_trace_event *event)
{
    return event->kind != FD_EVENT_STEP && event->kind != FD_EVENT_JOB;
}

/* One unit of a pipeline schedule. */
typedef struct fd_trace_job {
    uint32_t kind;    /* text: forward, ... */
    uint32_t context; /* 0: none, or not known yet */
    uint32_t thread;  /* index into the rank's threads */
    uint64_t step;
    uint32_t micro_batch; /* number + 1, like the next ones; 0: unknown */
    uint32_t stage;
    uint32_t chunk;
    uint32_t peer;
    uint32_t buffer;
    uint32_t iteration; /* number of the engine */
    uint32_t flags;     /* FD_JOB_* */
    uint32_t device;    /* of its GPU interval */
    uint64_t bytes;     /* 0: unknown */
    uint64_t start;     /* ns since the start of the recording */
    uint64_t duration;
    uint64_t gpu_start;    /* ns since the start of the recording: its first
                            * GPU interval; */
    uint64_t gpu_duration; /* both 0 without a GPU interval */
    bool open;             /* had not ended; its duration is its age */
    bool drawn;            /* its slice is in the timeline that was read */
} fd_trace_job;

enum { FD_SCHEDULE_NAME = 64 };

/* An iteration of a pipeline engine, with the facts that its plan depends on.
 * */
typedef struct fd_trace_iteration {
    uint32_t job;           /* index into the rank's jobs */
    uint32_t flags;         /* FD_ITERATION_* */
    uint32_t micro_batches; /* number + 1, like the next ones; 0: unknown */
    uint32_t stages;
    uint32_t processes;
    uint32_t position;               /* of this process among them */
    char schedule[FD_SCHEDULE_NAME]; /* truncated if longer */
} fd_trace_iteration;

/* A flow between two calls, from forward to backward: indexes into the rank's
 * events. */
typedef struct fd_trace_flow {
    uint32_t from;
    uint32_t to;
} fd_trace_flow;

/* One of the most expensive contexts of a step. */
typedef struct fd_trace_top {
    uint64_t step;
    uint32_t context;
    uint64_t self;
} fd_trace_top;

typedef struct fd_trace_meta {
    uint32_t key; /* texts; the value is JSON */
    uint32_t json;
} fd_trace_meta;

typedef struct fd_trace_rank {
    uint32_t rank;
    uint32_t reduced; /* number of ranks in the sum; 0: a single rank */
    uint32_t world;
    uint32_t pid;
    uint32_t state;  /* FD_STATE_*; RUNNING also after a kill */
    bool timing;     /* false: calls are counted, not timed */
    bool incomplete; /* the file is truncated or damaged: facts and calls may
                      * be missing */
    uint32_t steps_source;
    uint64_t steps;      /* number of ended steps */
    uint64_t run_steps;  /* the same, with steps that are not recorded */
    uint64_t recorded;   /* ns during which the rank recorded */
    uint64_t seen_alive; /* ns from the start to the latest sign of life of a
                          * rank that has not stopped */
    uint64_t others_ran; /* ns from the start until others worked while the
                          * first thread stood still, 0: never */
    uint64_t whole;      /* `recorded` of all steps, if some are selected */
    uint64_t file_bytes;
    char id[33]; /* id of the recording, hexadecimal */
    char boot_id[33];
    fd_file_anchor start; /* `ticks` is in ns of the tick clock */
    uint64_t counters[FD_COUNTERS];
    FD_VECTOR(fd_figure) figures; /* by context, each once */
    /* by context, each once; empty without a GPU */
    FD_VECTOR(fd_gpu_figure) gpu;
    /* empty without CallGraph(measure) */
    FD_VECTOR(fd_trace_measure) measures;
    FD_VECTOR(fd_trace_thread) threads;
    FD_VECTOR(fd_open_call) open;
    FD_VECTOR(fd_trace_step) latest; /* the last steps, oldest first */
    FD_VECTOR(fd_trace_top) tops;    /* of those steps */
    FD_VECTOR(fd_trace_mark) marks;  /* by step */
    fd_step_window window;
    /* if requested; sorted by thread, then by end */
    FD_VECTOR(fd_trace_event) events;
    FD_VECTOR(fd_trace_record) record_ids;    /* sorted by event */
    FD_VECTOR(fd_trace_gpu_event) gpu_events; /* if requested */
    FD_VECTOR(fd_trace_job) jobs;             /* sorted by start */
    FD_VECTOR(fd_trace_iteration)
    /* sorted by job; see python/fastdispatch/read/plan_differences.py */
    iterations;
    FD_VECTOR(fd_trace_flow) flows; /* of the timeline */
    uint64_t flows_lost; /* flows with a call that is not in the timeline */
    FD_VECTOR(fd_trace_meta) meta;
    FD_VECTOR(uint32_t) notes; /* texts: one line per damage */
    /* of a sum of ranks; sorted by context */
    FD_VECTOR(fd_rank_spread) spreads;
} fd_trace_rank;

typedef struct fd_trace {
    fd_text_pool texts;
    FD_VECTOR(fd_trace_node) nodes;
    FD_VECTOR(fd_trace_module) modules;
    FD_VECTOR(fd_trace_context) contexts;
    FD_VECTOR(fd_trace_rank) ranks; /* sorted by rank */
    bool sorted; /* set by fd_trace_sort; no more content can be added */
    fd_index node_index;
    fd_index module_index;
    fd_index context_index;
} fd_trace;

/* Return an empty trace, or NULL after a failed allocation. */
fd_trace *fd_trace_new(void);
void fd_trace_free(fd_trace *trace);

/* Find or add a node, module or context; ids inside it must be ids of this
 * trace. */
fd_status fd_trace_add_node(fd_trace *trace, const fd_trace_node *node,
                            uint32_t *id);
fd_status fd_trace_add_module(fd_trace *trace, const fd_trace_module *module,
                              uint32_t *id);
fd_status fd_trace_add_context(fd_trace *trace,
                               const fd_trace_context *context, uint32_t *id);

/* Append an empty rank and return it, or NULL after a failed allocation. */
fd_trace_rank *fd_trace_add_rank(fd_trace *trace);
void fd_trace_rank_clear(fd_trace_rank *rank);

/* Add `more` to the figure of its context. */
void fd_figure_add(fd_figure *figure, const fd_figure *more);

/* Add up measures with equal context, kind, flags and detail. */
void fd_measures_fold(fd_trace_rank *rank);

/* Append the key of a node, or the full name of a module ("blocks.3.attn"). */
void fd_trace_node_key(const fd_trace *trace, uint32_t node, fd_buffer *to);
void fd_trace_module_name(const fd_trace *trace, uint32_t module,
                          fd_buffer *to);

/* Return whether the node is a garbage collection: the range gc:gen0, 1 or
 * 2. */
bool fd_trace_is_collection(const fd_trace *trace, uint32_t node);

/* Return the "Record function id" of an event, or 0. */
uint64_t fd_trace_record_id(const fd_trace_rank *rank, uint32_t event);

static inline const char *
fd_trace_text(const fd_trace *trace, uint32_t id)
{
    return fd_text_pool_get(&trace->texts, id);
}

/* Facts of a rank: host, coordinates, clock. */

/* Append "rank 3 | node7 | pipe 1, data 0", as far as it is recorded. The
 * third part is the fact "coordinates". */
void fd_rank_label(const fd_trace *trace, const fd_trace_rank *rank,
                   fd_buffer *to);

/* Return the last fact with a key, as JSON, or NULL. */
const char *fd_rank_fact(const fd_trace *trace, const fd_trace_rank *rank,
                         const char *key);

/* Return the nanoseconds to add to times of this rank so that all are on the
 * clock of the first rank: exact on one host, the difference of the wall
 * clocks across hosts. */
int64_t fd_rank_offset(const fd_trace *trace, const fd_trace_rank *rank);

/* Return the offset of the rank that started first: the origin of
 * timelines. */
int64_t fd_first_offset(const fd_trace *trace);

#endif
