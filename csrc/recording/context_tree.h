/* The calling-context tree of one thread, and its open stack.
 *
 *      root "main"                     stack in the file
 *        └─ pretrain ◄──────────────── entry 0
 *             └─ [GPT]:forward ◄────── entry 1
 *                  ├─ aten::embedding
 *                  └─ [Block]:forward ◄ entry 2, current
 *
 * At every event, the ticks since the thread's previous event are added to the
 * context that was running. So the self time of a context is always up to
 * date, self times add up to the thread's time by construction, and nothing
 * has to be undone when an entry is removed from the middle of the stack.
 *
 * The tree belongs to the thread that attached it; only attach, release and
 * growth take the recording's lock. When the thread ends, the tree passes to
 * the next thread with the same role.
 */
#ifndef FD_CONTEXT_TREE_H
#define FD_CONTEXT_TREE_H

#include "base/vector.h"
#include "recording/measures/measure_rows.h"
#include "recording/measures/running_log.h"
#include "recording/open_operators.h"
#include "recording/shared_tables.h"

/* Marks functions that read figures which other threads may be changing. */
#if defined(__SANITIZE_THREAD__)
#define FD_READS_RUNNING __attribute__((no_sanitize("thread")))
#else
#define FD_READS_RUNNING
#endif

typedef struct fd_alias {
    uint32_t parent; /* context of the caller */
    uint32_t node;
    uint32_t module;
    uint32_t origin;
    uint32_t target; /* the context that counts it */
} fd_alias;

enum { FD_TREE_RECENT = 512 };

typedef struct fd_tree {
    /* Hot: used by the hooks on every event. */
    char *base;               /* the recording's mapping */
    fd_context *current;      /* the running context */
    fd_entry *stack;          /* in the file */
    fd_thread_record *record; /* in the file */
    uint32_t pending; /* number of open ranges that have no context yet */
    fd_running_log *running; /* owned; NULL: not wanted */

    fd_events events; /* the timeline; all zero: no timeline */
    fd_pool jobs;
    fd_op_log ops; /* calls for execution traces */
    fd_measures measures;

    fd_recording *recording; /* borrowed */
    fd_context *root;
    fd_context *overflow; /* created with the root, so that it always exists */
    fd_index index;       /* (parent, node, module, origin) -> context */
    FD_VECTOR(fd_alias) aliases; /* recursive calls counted in an ancestor */
    fd_pool contexts;
    FD_VECTOR(fd_chunk *) chunks; /* of contexts, in order of creation */
    /* Cache of contexts by hash of their caller, one per slot. It is only a
     * hint: the hook verifies it and falls back to the index. */
    uint32_t recent[FD_TREE_RECENT];
    uint64_t cpu_offset; /* the thread's clock minus `cpu` of its record */
    bool cpu_known;      /* whether the clock could be read at attachment */
    uint64_t queued;     /* ns without a CPU while it was recorded; main thread
                            only */
    uint64_t queued_offset; /* the thread's count minus `queued` */
    bool queued_known;
    struct fd_tree *next;
} fd_tree;

/* The called function: a node, the module instance whose forward it is, and
 * for an autograd node the forward context that created it. */
typedef struct fd_callee {
    uint32_t node;
    uint32_t module;
    uint32_t origin;
} fd_callee;

/* Return a free tree with this role, or a new one. Return NULL if there is no
 * space. */
fd_tree *fd_tree_attach(fd_recording *recording, const char *role,
                        uint32_t system_id);

/* Set the pools of a tree that has a recording and a record. Its attachment
 * does so. */
void fd_tree_make_pools(fd_tree *tree);

/* Start the clock of an attached tree, with an empty stack. */
void fd_tree_start(fd_tree *tree);

/* Bring the running context up to `now` and stop the clock. The stack stays
 * as it is, with the calls that were open. */
void fd_tree_settle(fd_tree *tree, uint64_t now);

/* Read the CPU time of the attached thread into its record. The caller holds
 * the recording's lock. */
void fd_tree_read_cpu(fd_tree *tree);

/* Read for how long the attached main thread has waited for a CPU into
 * `queued`. The caller holds the recording's lock. */
void fd_tree_read_queued(fd_tree *tree);

/* Release the tree of a thread that has ended, for the next thread with the
 * same role. */
void fd_tree_release(fd_tree *tree);

/* The same while the recording is paused: the thread does not own the tree and
 * changes only whether it is free. The next thread closes its entries. */
void fd_tree_leave(fd_tree *tree);

void fd_tree_free(fd_tree *tree);

/* Return the context of a call made from `parent`; create it if it is new.
 * Never NULL: beyond a limit the result is an <overflow> context, below a
 * folding context a <folded> one. */
fd_context *fd_tree_child(fd_tree *tree, fd_context *parent,
                          const fd_callee *callee);

/* Return the context that counts every call from `parent`, or NULL if each
 * call has its own context. */
fd_context *fd_tree_absorbing(fd_tree *tree, fd_context *parent);

/* fd_tree_child, but even if `parent` would absorb the call. */
fd_context *fd_tree_unfolded(fd_tree *tree, fd_context *parent,
                             const fd_callee *callee);

/* Double the stack. Return FD_EFULL if the recording has no space. */
fd_status fd_tree_grow_stack(fd_tree *tree);

static inline fd_context *
fd_tree_context(const fd_tree *tree, uint32_t id)
{
    return (fd_context *)(tree->base + (size_t)id * FD_ID_UNIT);
}

static inline uint32_t
fd_tree_id(const fd_tree *tree, const fd_context *context)
{
    return (uint32_t)((size_t)((const char *)context - tree->base)
                      / FD_ID_UNIT);
}

/* Return the spreads of a chunk of contexts, in the same order, or NULL if it
 * has none. */
static inline fd_spread *
fd_tree_spreads(const fd_file *file, const fd_chunk *hot)
{
    return hot->partner == 0
             ? NULL
             : fd_chunk_records(fd_file_record(file, hot->partner));
}

static inline uint32_t
fd_tree_depth(const fd_tree *tree)
{
    return atomic_load_explicit(&tree->record->depth, memory_order_relaxed);
}

/* Charge the time since the last event to the running context. A counter that
 * steps back (another processor, a few ticks off) adds no time. */
static inline void
fd_tree_tick(fd_tree *tree, uint64_t now)
{
    fd_thread_record *record = tree->record;
    int64_t passed = (int64_t)(now - record->last);
    passed = passed > 0 ? passed : 0;
    tree->current->self += (uint64_t)passed;
    record->last += (uint64_t)passed;
    if (__builtin_expect(tree->running != NULL, false)) {
        fd_running_log_put(tree->running, record->last,
                           fd_tree_id(tree, tree->current));
    }
}

/* Open an entry. The caller has made sure that the stack has space. */
static inline void
fd_tree_push(fd_tree *tree, fd_context *context, uint32_t id,
             const void *owner, uint32_t flags)
{
    fd_thread_record *record = tree->record;
    uint32_t depth = fd_tree_depth(tree);
    tree->stack[depth] = (fd_entry){
        .start = record->last,
        .owner = (uintptr_t)owner,
        .context = id,
        .flags = flags,
    };
    atomic_store_explicit(&record->depth, depth + 1, memory_order_release);
    tree->current = context;
}

/* Add an event to the timeline, which must exist. */
void fd_tree_event(fd_tree *tree, fd_event event);

/* Add the event of a call that ends, unless it is part of a folded call. */
static inline void
fd_tree_called(fd_tree *tree, const fd_entry *entry, const fd_context *context,
               int kind)
{
    uint64_t ticks = tree->record->last - entry->start;
    if (ticks < tree->events.shortest[kind]
        || (context->flags & FD_CONTEXT_ABSORBS) != 0) {
        return;
    }
    fd_event event = {entry->start, ticks, entry->context, FD_EVENT_CALL, 0};
    if (__builtin_expect(tree->events.next == tree->events.end, false)) {
        fd_tree_event(tree, event);
        return;
    }
    tree->record->events++;
    fd_events_put(&tree->events, tree->events.next, event);
}

/* Return the job that an entry belongs to, or NULL if it is not a job. */
static inline fd_job *
fd_tree_job_of(const fd_tree *tree, const fd_entry *entry)
{
    uint64_t offset = entry->owner - (uintptr_t)tree->base;
    return (entry->flags & FD_ENTRY_RANGE) != 0
                && offset < tree->recording->file.capacity
             ? (fd_job *)(tree->base + offset)
             : NULL;
}

/* End a job whose context is known and which does not own an entry. */
void fd_tree_job_ended(fd_tree *tree, fd_job *job, uint32_t context);

/* Return whether ends of entries are stored: in a timeline, or in records of
 * jobs. */
static inline bool
fd_tree_keeps_ends(const fd_tree *tree)
{
    return __builtin_expect(
        tree->events.chunk != NULL || tree->jobs.chunk != NULL, false);
}

/* Add the event of the ending entry at index `at`, if there is a timeline, and
 * end its job. */
void fd_tree_ended(fd_tree *tree, uint32_t at);

/* Close the topmost entry, at `depth`, whose caller is known. The caller of
 * this function adds the event to the timeline. */
static inline void
fd_tree_return(fd_tree *tree, uint32_t depth, fd_context *caller)
{
    atomic_store_explicit(&tree->record->depth, depth, memory_order_release);
    tree->current = caller;
}

/* Set the depth; the entries above were moved, or belong to no call. */
static inline void
fd_tree_truncate(fd_tree *tree, uint32_t depth)
{
    atomic_store_explicit(&tree->record->depth, depth, memory_order_release);
    tree->current = depth == 0
                      ? tree->root
                      : fd_tree_context(tree, tree->stack[depth - 1].context);
}

/* Close all entries from `depth` up. */
static inline void
fd_tree_close(fd_tree *tree, uint32_t depth)
{
    if (fd_tree_keeps_ends(tree)) {
        for (uint32_t at = fd_tree_depth(tree); at-- > depth;) {
            fd_tree_ended(tree, at);
        }
    }
    fd_tree_truncate(tree, depth);
}

/* Return the latest child of the running context, and below, the sibling that
 * followed it last time. In a training loop the next call is nearly always one
 * of the two. The caller checks the result; context 0 is the header, whose
 * callee field never equals a valid id. */
static inline fd_context *
fd_tree_latest(const fd_tree *tree)
{
    return fd_tree_context(tree, tree->current->last_child);
}

static inline fd_context *
fd_tree_successor(const fd_tree *tree, const fd_context *latest)
{
    return fd_tree_context(tree, latest->successor);
}

/* Remember that context `id` was called, to predict it next time. For a
 * predicted context it is enough to set last_child. */
static inline void
fd_tree_note(fd_tree *tree, uint32_t id)
{
    fd_context *parent = tree->current;
    uint32_t latest = parent->last_child != 0 ? parent->last_child : id;
    fd_tree_context(tree, latest)->successor = id;
    parent->last_child = id;
}

#endif
