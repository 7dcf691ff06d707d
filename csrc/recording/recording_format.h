/* The layout of the recording file. docs/formats/recording.md describes and
 * explains it; change both together.
 *
 *   0        4096
 *   +--------+---------+---------+-------------+----
 *   | header | chunk   | chunk   | chunk       | ...      up to file_bytes
 *   +--------+---------+---------+-------------+----
 *             [ chunk header 64 B | record | record | ... | unused ]
 *
 * A record never moves. The id of a record is its byte offset / 64; the id of
 * a string is its byte offset / 8. Id 0 is "none" everywhere, because the
 * header lives there. All numbers are little-endian. Times are ticks of the
 * clock in the header.
 */
#ifndef FD_RECORDING_FORMAT_H
#define FD_RECORDING_FORMAT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the recording is little-endian and written by plain stores"
#endif
#define FD_FILE_MAGIC "fastdisp"
#define FD_CHUNK_MAGIC UINT64_C(0x6b6e756863646600) /* "\0fdchunk" */

enum {
    FD_FILE_VERSION = 1,
    FD_PAGE = 4096,
    FD_MAX_MB = 1024, /* node ids fit 24 bits, see FD_ENTRY_NODE_SHIFT */
    FD_ID_UNIT = 64,
    FD_STRING_UNIT = 8,
    FD_STEPS_KEPT = 256,
    FD_STEP_TOP = 8,
    FD_COUNTERS = 32
};

/* Kinds of chunks. A reader skips kinds it does not know. */
enum {
    FD_CHUNK_STRINGS = 1,
    FD_CHUNK_NODES = 2,
    FD_CHUNK_MODULES = 3,
    FD_CHUNK_CONTEXTS = 4, /* hot: updated on every call, one owner each */
    FD_CHUNK_SPREADS = 5,  /* cold: updated once per step, parallel to a hot */
    FD_CHUNK_THREADS = 6,
    FD_CHUNK_STACK = 7,
    FD_CHUNK_STEPS = 8,
    FD_CHUNK_META = 9,
    FD_CHUNK_EVENTS = 10, /* of the timeline, one owner each */
    FD_CHUNK_GPU = 11,    /* cold: GPU figures of contexts */
    FD_CHUNK_GPU_EVENTS = 12,
    FD_CHUNK_JOBS = 13,     /* one owner each */
    FD_CHUNK_OP_CALLS = 14, /* for execution traces, one owner each */
    FD_CHUNK_OPERANDS = 15, /* operands of those: words */
    FD_CHUNK_SCHEMAS = 16,
    FD_CHUNK_SNAPSHOTS = 17,        /* states at the ends of some steps */
    FD_CHUNK_SNAPSHOT_FIGURES = 18, /* of those: figures of contexts */
    FD_CHUNK_SNAPSHOT_THREADS = 19, /* of those: threads */
    FD_CHUNK_MEASURES = 20,         /* cold: measured figures of contexts */
    FD_CHUNK_KERNELS = 21,          /* cold: kernels of contexts */
    FD_CHUNK_KERNEL_EVENTS = 22,    /* fd_kernel_event, in the same way */
    FD_CHUNK_LINES = 23,            /* of threads that stand still */
    FD_CHUNK_WATCHED = 24           /* calls that the watch has found, one
                                       owner each */
};

/* Kinds of nodes. */
enum {
    FD_NODE_PYTHON = 1,
    FD_NODE_OP = 2,
    FD_NODE_AUTOGRAD = 3,
    FD_NODE_RANGE = 4,
    FD_NODE_JOB = 5,
    FD_NODE_MODULE = 6,
    FD_NODE_THREAD = 7,
    FD_NODE_OVERFLOW = 8, /* <overflow>, <folded>, <lost> */
    FD_NODE_C = 9,        /* a C function called by Python code */
    FD_NODE_KERNEL = 10,  /* readers: a kernel, copy or fill on a GPU */
    FD_NODE_KINDS = 11
};

/* Phases of a training step. A context keeps the phase of its parent unless
 * that is FD_PHASE_OTHER. */
enum {
    FD_PHASE_OTHER = 0,
    FD_PHASE_FORWARD = 1,
    FD_PHASE_BACKWARD = 2,
    FD_PHASE_OPTIMIZER = 3,
    FD_PHASE_DATA = 4,
    FD_PHASES = 5,
    FD_PHASE_SLOTS = 7
};

/* The origin of the file of a function. */
enum {
    FD_FROM_USER = 0,
    FD_FROM_SITE = 1, /* an installed package */
    FD_FROM_STDLIB = 2,
    FD_FROM_GENERATED = 3 /* <string>, <frozen ...>, <eval_with_key> */
};

/* Bits of fd_node.flags. */
enum {
    FD_NODE_PHASE = 0x07,  /* the phase this node opens */
    FD_NODE_FOLD = 0x08,   /* its callees are counted in one <folded> */
    FD_NODE_DROPPED = 0x10 /* rejected by keep=: has no context */
};

/* Bits of fd_context.flags. */
enum {
    FD_CONTEXT_PHASE = 0x07,
    FD_CONTEXT_ABSORBS = 0x08, /* counts every call below it */
    FD_CONTEXT_FOLDS = 0x10,   /* calls below it go to one absorbing child */
    FD_CONTEXT_ASYNC = 0x20,   /* its time is not part of its parents' time */
    FD_CONTEXT_HIDDEN = 0x40   /* calls without a hook (constructors on 3.13),
                                  inferred from callees */
};

/* How a step was recognised, weakest first. A stronger source disables the
 * weaker ones. */
enum {
    FD_STEPS_NONE = 0,
    FD_STEPS_OPTIMIZER = 1,
    FD_STEPS_ENGINE = 2,
    FD_STEPS_PROFILER = 3,
    FD_STEPS_EXPLICIT = 4
};

enum {
    FD_STATE_RUNNING = 1, /* also left behind by a killed process */
    FD_STATE_PAUSED = 2,  /* outside the recorded steps */
    FD_STATE_STOPPED = 3,
    FD_STATE_KILLED = 4,   /* never in a file: determined by readers */
    FD_STATE_FOLLOWING = 5 /* in an unrecorded step of a budget */
};

/* Whether a thread is attached to a record. */
enum {
    FD_THREAD_NONE = 0,
    FD_THREAD_RUNS = 1,
    FD_THREAD_WATCHED = 2, /* its stack is old: the watch finds its open calls
                              (FD_CHUNK_WATCHED) */
    FD_THREAD_QUIET = 3 /* the watch finds the calls below its stack, if there
                           are some at the next look */
};

/* How readers detect a live writer. */
enum {
    FD_LIVENESS_LOCK = 1,   /* it holds the lock of fd_lock_take; also 0 */
    FD_LIVENESS_UNKNOWN = 2 /* the file system does not support such locks */
};

/* fd_header.counters: everything that was dropped, capped or unattributed. */
enum {
    FD_COUNT_NODES_FULL,   /* functions without space for a node */
    FD_COUNT_STRINGS_FULL, /* texts replaced by "" for lack of space */
    FD_COUNT_MODULES_FULL, /* instances that do not fit or were not searched */
    FD_COUNT_DISK_FULL,    /* refused chunk allocations */
    FD_COUNT_DEEP_STACK,   /* times the C stack or entry stack was exhausted */
    FD_COUNT_HIDDEN_FRAMES, /* frames without a hook, inferred from callees */
    FD_COUNT_END_WITHOUT_START,
    FD_COUNT_ASYNC_LOST,    /* asynchronous records whose end was missed */
    FD_COUNT_ORIGIN_NEAR,   /* origin taken from the nearest lower number */
    FD_COUNT_ORIGIN_OLD,    /* origin overwritten in the ring */
    FD_COUNT_ORIGIN_NONE,   /* no numbered operator at or shortly before it */
    FD_COUNT_ORIGIN_THREAD, /* forward thread of the origin not recorded */
    FD_COUNT_ORIGIN_MISFIT, /* contexts whose name differs from the origin's */
    FD_COUNT_ACCUMULATE,    /* AccumulateGrad: belongs to no call site */
    FD_COUNT_HOOK_LOST,     /* times another tool took the evaluator */
    FD_COUNT_RANGES_FOLDED, /* range names replaced by a pattern */
    FD_COUNT_RECURSION_FOLDED, /* contexts merged with an ancestor */
    FD_COUNT_THREADS_FULL,     /* threads without space for a tree */
    FD_COUNT_JOBS_FULL,        /* jobs without space for a record */
    FD_COUNT_GPU_CAPTURED,     /* calls not timed: stream being captured */
    FD_COUNT_GPU_LOST, /* calls not timed: no space, device in use by another
                          thread, or a pending CUDA error of the program */
    FD_COUNT_GPU_DROPPED,    /* intervals without an end */
    FD_COUNT_GPU_SHIFTED,    /* intervals that start before their launch */
    FD_COUNT_GPU_UNFINISHED, /* intervals not finished by the GPU at the end */
    FD_COUNT_GPU_EVENTS_LOST, /* intervals that do not fit in the timeline */
    FD_COUNT_OP_CALLS_FULL,   /* calls of execution traces without space */
    FD_COUNT_OPERANDS_CUT,    /* operands cut: too long or unreadable */
    FD_COUNT_CLASSES_FULL,   /* calls recorded without their class: no space */
    FD_COUNT_SNAPSHOTS_FULL, /* ends of steps without space for a snapshot */
    FD_COUNT_MEASURES_FULL,  /* measurements without space for a record */
    FD_COUNT_UNHOOKED_NS,    /* time without any hook of Python calls */
    FD_COUNT_STEPS_UNCLEAR,  /* steps whose begin or end is in doubt */
    FD_COUNT_USED
};

typedef struct fd_file_anchor {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint64_t boottime_ns;
} fd_file_anchor;

typedef struct fd_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;       /* FD_PAGE: offset of the first chunk */
    _Atomic uint64_t file_bytes; /* end of the last chunk */
    uint64_t max_bytes;
    uint8_t id[16];   /* random, one per recording */
    uint8_t zero[16]; /* context 0: no callee, no children */
    uint8_t boot_id[16];
    uint32_t state;  /* FD_STATE_* */
    uint32_t timing; /* 0: counts only, all times are 0 */
    uint32_t rank;
    uint32_t world;
    uint32_t pid;
    uint32_t steps_source;
    uint64_t steps;      /* steps that have ended */
    uint64_t first_step; /* number of the first step (run --steps A:B) */
    double hertz;        /* ticks per second, best estimate */
    fd_file_anchor start;
    fd_file_anchor stop; /* all 0 until stopped */
    uint64_t recorded;   /* ticks between starts and stops so far */
    uint64_t resumed;    /* tick of the latest resume; 0 while paused */
    _Atomic uint64_t counters[FD_COUNTERS];
    uint32_t liveness; /* FD_LIVENESS_* */
    uint32_t unused;
    uint64_t run_steps; /* steps of the run that have ended, recorded or not */
    _Atomic uint64_t seen_alive; /* tick of the latest sign of life */
    _Atomic uint64_t others_ran; /* tick of the latest look at which, while the
                                    first thread stood still, others ran */
} fd_header;

typedef struct fd_chunk {
    uint64_t magic;
    uint64_t offset; /* of this header in the file: detects torn copies */
    uint64_t bytes;  /* size of the chunk, a multiple of FD_PAGE */
    uint32_t kind;
    uint32_t record_bytes;  /* 1 for strings */
    uint32_t capacity;      /* records that fit */
    _Atomic uint32_t used;  /* written last, by release store */
    uint32_t owner;         /* id of the thread record, 0 if shared */
    uint32_t partner;       /* contexts: id of the spreads chunk; watched
                               calls: kernel's id of their thread */
    _Atomic uint64_t first; /* events: earlier events of their owner; watched
                               calls: tick of the look */
    uint8_t unused[8];
} fd_chunk;

/* A string: this header, then `size` bytes of UTF-8 and a NUL, padded to 8. */
typedef struct fd_string {
    uint32_t size;
    uint32_t hash;
    char bytes[];
} fd_string;

typedef struct fd_node {
    uint8_t kind;
    uint8_t from;   /* FD_FROM_* */
    uint16_t strip; /* leading bytes of `file` that differ by host */
    uint32_t flags;
    uint32_t file; /* string ids; 0 if the kind has none */
    uint32_t class_name;
    uint32_t name;
    uint32_t qualified; /* __qualname__ */
    uint32_t package;
    uint32_t line; /* first line of the function */
    uint32_t hash; /* hash of the fields that identify it */
    uint32_t unused[7];
} fd_node;

typedef struct fd_module {
    uint32_t parent; /* enclosing module, 0 for a root */
    uint32_t name;   /* path below the parent, "blocks.3" */
    uint32_t class_name;
    uint32_t unused;
    uint64_t parameters; /* elements of its parameters and those of all modules
                            below, each once; 0: unknown, or none */
    uint64_t parameter_bytes;
    uint32_t unused2[8];
} fd_module;

/* One call path. The last fields are hints of the writer that reduce the next
 * lookup to a comparison. */
typedef struct fd_context {
    uint32_t parent;
    uint32_t node;
    uint32_t module;
    uint32_t origin; /* forward context whose gradient this computes */
    uint64_t calls;
    uint64_t resumes; /* times a generator or coroutine was resumed */
    uint64_t self;    /* ticks */
    uint32_t flags;
    uint32_t spread;     /* id of its fd_spread */
    uint32_t callee;     /* code or node that it was entered for */
    uint32_t receiver;   /* writer: class that was examined */
    uint32_t last_child; /* writer: most recent child */
    uint32_t successor;  /* writer: sibling that followed last time */
} fd_context;

/* The figures of one context per step. Minimum, maximum and sums are over the
 * steps in which it was active. */
typedef struct fd_spread {
    uint64_t self_mark;  /* fd_context.self at the last step end */
    uint32_t calls_mark; /* fd_context.calls + resumes then, low bits */
    uint32_t steps;      /* steps in which it was active */
    uint64_t pending;    /* writer: ticks of its children in this step */
    double self_squares; /* sum of squares, ticks^2 */
    double total_squares;
    float self_min;
    float self_max;
    float total_min;
    float total_max;
    uint32_t last_step;    /* number of the last step in which it was active */
    uint32_t resumes_mark; /* fd_context.resumes then, low bits */
} fd_spread;

typedef struct fd_thread_record {
    uint64_t last;            /* tick of the thread's latest event */
    _Atomic uint32_t depth;   /* open entries */
    uint32_t capacity;        /* capacity of the stack chunk, in entries */
    uint64_t stack;           /* offset of its first entry */
    uint32_t root;            /* root context */
    _Atomic uint32_t running; /* FD_THREAD_* */
    uint32_t role;            /* string of the role */
    uint32_t system_id;       /* kernel's thread id of the latest thread */
    uint64_t attached;        /* tick at which the current thread started */
    uint64_t covered;         /* ticks of the earlier threads */
    uint64_t served;          /* number of threads so far */
    uint64_t events;          /* events of the timeline, written or lost */
    uint64_t events_lost;     /* events that did not fit or were overwritten */
    uint64_t cpu;           /* CPU time of the threads in ns, latest reading */
    uint64_t step_last;     /* at the last step end: `last`, */
    uint64_t step_covered;  /* the time covered up to it, */
    uint64_t step_cpu;      /* `cpu`, */
    uint32_t step_context;  /* and the running context; 0: not attached */
    _Atomic uint32_t waits; /* FD_WAIT_*, when it was last seen, and */
    _Atomic uint64_t still; /* tick since which it has not run; 0: it has */
} fd_thread_record;

/* One open call. Entry 0 is the outermost. */
typedef struct fd_entry {
    uint64_t start; /* tick; 0 without timing */
    uint64_t owner; /* writer: the frame or record that opened it */
    uint32_t context;
    uint32_t flags; /* FD_ENTRY_* */
} fd_entry;

enum {
    FD_ENTRY_FRAME = 1,      /* a Python frame, or a C function it calls */
    FD_ENTRY_UNHOOKED = 2,   /* a frame whose end no hook reports */
    FD_ENTRY_CONTRACTED = 4, /* a dropped frame: runs in its caller's context,
                                uncounted */
    FD_ENTRY_OP = 8,         /* an operator or autograd node */
    FD_ENTRY_RANGE = 16,     /* a range; may outlive the frame it began in */
    /* a range without a context: `context` is its caller's, the bits from
     * FD_ENTRY_NODE_SHIFT up are its node */
    FD_ENTRY_PENDING = 32,
    FD_ENTRY_ENGINE = 64,  /* autograd prepares a node, which does not exist
                              yet */
    FD_ENTRY_ENTERS = 128, /* a frame of __enter__: ranges opened in it
                              belong to its caller */
    FD_ENTRY_NODE_SHIFT = 8,
    FD_ENTRY_FOLLOWED = 256 /* of an unrecorded step: followed_call.h */
};

/* An event of the timeline: an ended call, step or job. The events of a thread
 * are ordered by their ends. */
typedef struct fd_event {
    uint64_t start; /* tick */
    uint64_t ticks; /* duration */
    uint32_t context;
    uint16_t kind;   /* FD_EVENT_* */
    uint16_t source; /* steps: FD_STEPS_*; weaker ones are ignored */
} fd_event;

enum {
    FD_EVENT_CALL = 1,
    FD_EVENT_ASYNC = 2, /* a call of any thread, in no particular order */
    FD_EVENT_STEP = 3,  /* `context`: the step's number, low half */
    FD_EVENT_FLOW = 6,  /* the call of this context that begins at `start` is
                           the backward of the call of its origin that began
                           at tick `ticks` */
    FD_EVENT_JOB = 7,   /* `context`: the id of its fd_job */
    FD_EVENT_RECORD = 8 /* the call of this context and start that ended just
                           before has the number `ticks` for torch.profiler */
};

/* One unit of a pipeline schedule: written when it begins, final when it has
 * ended. A number that may be absent is stored plus 1; 0: absent. */
typedef struct fd_job {
    uint64_t start;   /* tick */
    uint64_t ticks;   /* duration; 0 while FD_JOB_OPEN */
    uint32_t node;    /* its kind is the node's name */
    uint32_t context; /* 0 until it has ended */
    uint32_t thread;  /* thread record */
    uint32_t flags;   /* FD_JOB_* */
    uint64_t step;
    uint32_t micro_batch; /* plus 1, as the next four fields and `iteration` */
    uint32_t stage;
    uint32_t chunk;
    uint32_t peer;
    uint32_t buffer;
    uint32_t ordinal; /* plus 1: see docs/formats/recording.md */
    uint64_t bytes;   /* moved between stages, or reduced; 0: unknown */
    /* Of an iteration; 0: unknown. All except the first are stored plus 1. */
    uint32_t schedule; /* string: the class of the schedule */
    uint32_t micro_batches;
    uint32_t stages; /* of all processes, with chunks */
    uint32_t processes;
    uint64_t object;    /* writer: the object that opened it */
    uint32_t iteration; /* plus 1 */
    uint32_t position;  /* of an iteration: index of this process, plus 1 */
    uint32_t iteration_flags; /* FD_ITERATION_* */
    uint32_t unused;
    uint64_t unused2[2];
} fd_job;

/* Bits of fd_job.flags. */
enum {
    FD_JOB_OPEN = 1,      /* has not ended */
    FD_JOB_EVAL = 2,      /* part of an evaluation */
    FD_JOB_EXCEPTION = 4, /* ended by an exception */
    FD_JOB_POSTED = 8,    /* a transfer begun here and awaited elsewhere */
    FD_JOB_FUSED = 16, /* one call for two jobs: this one and its neighbour */
    FD_JOB_LOCAL = 32, /* a transfer with both ends on this rank */
    FD_JOB_ATTACHED = 64, /* recognized by a rule, not marked by the program */
    FD_JOB_UNPLANNED = 128, /* the schedule has no such job here */
    FD_JOB_WAIT = 256       /* waits for a send that was POSTED before */
};

/* Bits of fd_job.iteration_flags. */
enum {
    FD_ITERATION_KNOWN = 1,     /* the job is an iteration */
    FD_ITERATION_ENDED = 2,     /* ended by the end of its call, not by a pause
                                   */
    FD_ITERATION_OWN_ORDER = 4, /* the engine left the order of its schedule */
    FD_ITERATION_CUT = 8        /* jobs are missing for lack of space */
};

/* One call of an operator, autograd node or range, for execution traces:
 * written when it begins, final when it has ended. */
typedef struct fd_op_call {
    uint64_t start; /* tick */
    uint64_t ticks; /* duration; 0 while FD_OP_CALL_OPEN */
    uint64_t id;    /* PyTorch's number of the record; 0: none. For the forward
                       of a module, the address of the instance */
    int64_t sequence;        /* autograd's sequence number; -1: none */
    uint64_t forward_thread; /* PyTorch's number of the forward thread; 0:
                                none */
    uint64_t inputs;         /* offset of the operand words; 0: none */
    uint64_t outputs;
    uint32_t input_words;
    uint32_t output_words;
    uint32_t parent; /* the enclosing call on its thread; 0: none */
    uint32_t thread; /* thread record */
    uint32_t schema; /* string "aten::add.Tensor"; 0: the first input operand
                        is the name, as text */
    uint32_t torch_thread; /* PyTorch's number of the thread */
    uint32_t step;         /* number of the step, low half */
    uint32_t flags;      /* FD_OP_CALL_* and, from bit 8 up, at::RecordScope */
    uint64_t gpu_launch; /* tick at which the first timestamp was recorded */
    uint64_t gpu_start;  /* tick at which the GPU reached it */
    uint64_t gpu_ticks;  /* ticks until the GPU reached the second */
    uint16_t gpu_device;
    _Atomic uint16_t gpu_stream; /* as in fd_gpu_event, plus 1; 0: not timed on
                                    a GPU. Written last */
    uint32_t unused;
    uint64_t unused2;
} fd_op_call;

enum {
    FD_OP_CALL_OPEN = 1,   /* has not ended, or its end was not seen */
    FD_OP_CALL_ASYNC = 2,  /* may have ended on another thread */
    FD_OP_CALL_MODULE = 4, /* not an operator: the forward of an nn.Module */
    FD_OP_CALL_SCOPE_SHIFT = 8
};

/* Operands: each is a word and the data of its kind. The low byte of the word
 * is the kind, its high half a count or a number. */
enum {
    FD_OPERAND_TENSOR = 1, /* bits 8: dtype, 16: kind of device, 24: index of
                              device; high half: dimensions. Then its address,
                              that of its storage, offset, elements, sizes,
                              strides; with FD_OPERAND_VALUED its only one */
    FD_OPERAND_UNDEFINED = 2, /* an undefined tensor; next word: its address */
    FD_OPERAND_NONE = 3,
    FD_OPERAND_INT = 4, /* next word: the number, as for all below */
    FD_OPERAND_DOUBLE = 5,
    FD_OPERAND_BOOL = 6,   /* value in the high half */
    FD_OPERAND_TEXT = 7,   /* high half: size in bytes; then the bytes, padded
                              to 8 */
    FD_OPERAND_DEVICE = 8, /* bits 16 and 24 as for a tensor */
    FD_OPERAND_LIST = 9,   /* high half: operands that follow; bit 8: cut, 9: a
                              Python tuple */
    FD_OPERAND_OTHER = 10, /* high half: PyTorch's tag; next word: its
                              address */
    FD_OPERAND_DICT = 11   /* high half: operands that follow, keys and values
                              alternating */
};

/* In the first word of a tensor: its strides are followed by its only element
 * as a number (int64_t, or the bits of a double). */
#define FD_OPERAND_VALUED (UINT64_C(1) << 63)

/* The inputs and outputs of an operator. */
typedef struct fd_schema {
    uint32_t name; /* strings: "aten::relu" */
    uint32_t text; /* "aten::relu(Tensor self) -> Tensor" */
} fd_schema;

typedef struct fd_step_top {
    uint32_t context;
    float self; /* ticks in this step */
} fd_step_top;

/* A ring: the n-th recorded step is record n % FD_STEPS_KEPT. */
typedef struct fd_step {
    uint64_t number;
    uint64_t begin; /* ticks */
    uint64_t end;
    uint64_t phases[FD_PHASES]; /* self ticks of the thread that ends steps */
    uint64_t communicated;      /* bytes, plus 1; 0: not measured. Per call the
                              sent or received ones, whichever are more */
    uint64_t live; /* allocated bytes of all devices at its end, plus 1; 0: not
                      measured */
    fd_step_top top[FD_STEP_TOP]; /* most expensive contexts, by self */
} fd_step;

/* The state at the end of a step. The first record describes the last step
 * that has ended; its figures are the marks in fd_spread and fd_thread_record.
 */
typedef struct fd_snapshot {
    uint64_t number;   /* number of the step */
    uint64_t steps;    /* ended steps */
    uint64_t tick;     /* end of the step */
    uint64_t recorded; /* ticks recorded up to the end */
    uint64_t figures;  /* fd_snapshot_figure records up to its last one */
    uint64_t threads;  /* fd_snapshot_thread records */
    uint32_t source;   /* source of the steps: FD_STEPS_* */
    uint32_t thread;   /* record of the thread that ended the step */
    uint64_t phases[FD_PHASE_SLOTS]; /* self ticks of threads that end steps,
                                        in all steps */
    uint64_t queued; /* ns that the thread which ended the step waited for a
                        CPU, 0 if unknown */
    uint64_t memory; /* bytes in RAM without files, 0 if
                                        unknown */
} fd_snapshot;

/* A context that was active since the previous snapshot. Sums run from the
 * start; sums over steps are those of fd_spread. */
typedef struct fd_snapshot_figure {
    uint32_t context;
    uint32_t steps;
    uint64_t calls;
    uint64_t resumes;
    uint64_t self;
    double self_squares;
    double total_squares;
} fd_snapshot_figure;

typedef struct fd_snapshot_thread {
    uint32_t thread;  /* thread record */
    uint32_t context; /* running context; 0: no thread is attached */
    uint64_t last;    /* as in fd_thread_record */
    uint64_t covered; /* up to `last`, including the present thread */
    uint64_t cpu;
} fd_snapshot_thread;

/* A fact about the run: two strings, the value as JSON. The last record with a
 * key is valid. */
typedef struct fd_meta {
    uint32_t key;
    uint32_t value;
} fd_meta;

static_assert(sizeof(fd_header) <= FD_PAGE, "the header is one page");
static_assert(sizeof(fd_job) == 2 * FD_ID_UNIT, "a job has an id");
static_assert(sizeof(fd_op_call) == 2 * FD_ID_UNIT, "a call has an id");
static_assert(sizeof(fd_schema) == 8, "schema record");
static_assert(offsetof(fd_header, zero) == offsetof(fd_context, callee),
              "context 0 has no hints");
static_assert(sizeof(fd_chunk) == 64, "records start on an id boundary");
static_assert(sizeof(fd_string) == 8, "string header");
static_assert(sizeof(fd_node) == 64, "node record");
static_assert(sizeof(fd_module) == 64, "module record");
static_assert(sizeof(fd_context) == 64, "one cache line");
static_assert(sizeof(fd_spread) == 64, "spread record");
static_assert(sizeof(fd_thread_record) == 128, "thread record");
static_assert(sizeof(fd_entry) == 24, "stack entry");
static_assert(sizeof(fd_event) == 24, "event record");
static_assert(sizeof(fd_step) == 144, "step record");
static_assert(sizeof(fd_snapshot) == 128, "snapshot record");
static_assert(sizeof(fd_snapshot_figure) == 48, "figures of a snapshot");
static_assert(sizeof(fd_snapshot_thread) == 32, "threads of a snapshot");

#endif
