/* The calling-context tree of one thread, and its open stack.
 *
 *      root "main"                     stack in the file
 *        └─ pretrain ◄──────────────── entry 0
 *             └─ [GPT]:forward ◄────── entry 1
 *                  ├─ aten::embedding
 *                  └─ [Block]:forward ◄ entry 2, current
 *
 * Time is charged in one place: at every event the ticks since the thread's
 * previous event go to the context that was running. So a context's self time
 * is always up to date, self times add up to the thread's time by
 * construction, and nothing has to be undone when an entry is taken out of
 * the middle of the stack.
 *
 * The tree belongs to the thread that attached it; only attach, release and
 * growth take the recording's lock. When the thread ends, the tree passes to
 * the next thread with the same role.
 */
#ifndef FD_CONTEXT_TREE_H
#define FD_CONTEXT_TREE_H

#include "base/vector.h"
#include "recording/measures/measure_rows.h"
#include "recording/open_operators.h"
#include "recording/shared_tables.h"

typedef struct fd_alias {
    uint32_t parent; /* where the call happened */
    uint32_t node;
    uint32_t module;
    uint32_t origin;
    uint32_t target; /* the context it is counted in */
} fd_alias;

enum { FD_TREE_RECENT = 512 };

typedef struct fd_tree {
    /* Hot: what the hooks touch on every event. */
    char *base;               /* the recording's mapping */
    fd_context *current;      /* running now */
    fd_entry *stack;          /* in the file */
    fd_thread_record *record; /* in the file */
    uint32_t pending;         /* open ranges that have no context yet */

    fd_events events;     /* the timeline; empty without */
    fd_pool jobs;         /* empty before the first one */
    fd_op_log ops;        /* for execution traces */
    fd_measures measures; /* empty before the first one */

    fd_recording *recording; /* borrowed */
    fd_context *root;
    fd_context *overflow; /* made with the root, so that it always has room */
    fd_index index;       /* (parent, node, module, origin) -> context */
    FD_VECTOR(fd_alias) aliases; /* recursion folded to an ancestor */
    fd_pool contexts;
    FD_VECTOR(fd_chunk *) chunks; /* of contexts, in order of creation */
    /* Contexts by hash of their caller, one per slot: a hint that the hook
     * checks before it looks anything up. */
    uint32_t recent[FD_TREE_RECENT];
    uint64_t cpu_offset; /* of the thread's clock from `cpu` of its record */
    bool cpu_known;      /* the clock could be read when it was attached */
    struct fd_tree *next;
} fd_tree;

/* The called function: a node, the module instance whose forward it is, and
 * for an autograd node the forward context that created it. */
typedef struct fd_callee {
    uint32_t node;
    uint32_t module;
    uint32_t origin;
} fd_callee;

/* A free tree with this role, or a new one; NULL without room. */
fd_tree *fd_tree_attach(fd_recording *recording, const char *role,
                        uint32_t system_id);

/* Start the clock of an attached tree, with an empty stack. */
void fd_tree_start(fd_tree *tree);

/* Bring the running context up to `now` and stop the clock. The stack stays
 * as it is, with the calls that were open. */
void fd_tree_settle(fd_tree *tree, uint64_t now);

/* Read the CPU time of the attached thread into its record. Under the lock. */
void fd_tree_read_cpu(fd_tree *tree);

/* The thread has ended: the next one with its role may have the tree. */
void fd_tree_release(fd_tree *tree);

void fd_tree_free(fd_tree *tree);

/* The context of a call made from `parent`, created when new. Never NULL:
 * past a bound it is an <overflow> context, inside a folding one <folded>. */
fd_context *fd_tree_child(fd_tree *tree, fd_context *parent,
                          const fd_callee *callee);

/* The context in which every call from `parent` is counted; NULL: each has its
 * own. */
fd_context *fd_tree_absorbing(fd_tree *tree, fd_context *parent);

/* fd_tree_child, also where `parent` would absorb the call. */
fd_context *fd_tree_unfolded(fd_tree *tree, fd_context *parent,
                             const fd_callee *callee);

/* Double the stack. FD_EFULL when the recording has no room. */
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

/* The spreads parallel to a chunk of contexts; NULL without. */
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
 * steps back (another processor, a few ticks off) counts as no time. */
static inline void
fd_tree_tick(fd_tree *tree, uint64_t now)
{
    fd_thread_record *record = tree->record;
    int64_t passed = (int64_t)(now - record->last);
    passed = passed > 0 ? passed : 0;
    tree->current->self += (uint64_t)passed;
    record->last += (uint64_t)passed;
}

/* Open an entry. The stack must have room. */
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

/* Add to the timeline, which exists. */
void fd_tree_event(fd_tree *tree, fd_event event);

/* Add the line of a call that ends, unless it is part of a folded call. */
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

/* The job of an entry; NULL: none. */
static inline fd_job *
fd_tree_job_of(const fd_tree *tree, const fd_entry *entry)
{
    uint64_t offset = entry->owner - (uintptr_t)tree->base;
    return (entry->flags & FD_ENTRY_RANGE) != 0
                && offset < tree->recording->file.room
             ? (fd_job *)(tree->base + offset)
             : NULL;
}

/* A job that is not the owner of an entry ends; its context is known. */
void fd_tree_job_ended(fd_tree *tree, fd_job *job, uint32_t context);

/* Add the line of the entry at this depth, which ends, if there is a timeline.
 * */
void fd_tree_ended(fd_tree *tree, uint32_t at);

/* Close the topmost entry, at `depth`, whose caller is known. The caller adds
 * to the timeline. */
static inline void
fd_tree_return(fd_tree *tree, uint32_t depth, fd_context *caller)
{
    atomic_store_explicit(&tree->record->depth, depth, memory_order_release);
    tree->current = caller;
}

/* Set the depth: entries above were moved, or belong to no call. */
static inline void
fd_tree_truncate(fd_tree *tree, uint32_t depth)
{
    atomic_store_explicit(&tree->record->depth, depth, memory_order_release);
    tree->current = depth == 0
                      ? tree->root
                      : fd_tree_context(tree, tree->stack[depth - 1].context);
}

/* Close every entry from `depth` up. */
static inline void
fd_tree_close(fd_tree *tree, uint32_t depth)
{
    if (__builtin_expect(tree->events.chunk != NULL, false)) {
        for (uint32_t at = fd_tree_depth(tree); at-- > depth;) {
            fd_tree_ended(tree, at);
        }
    }
    fd_tree_truncate(tree, depth);
}

/* The latest child of the running context, and the sibling that followed it
 * last time. In a training loop the next call is nearly always one of the two.
 * The caller compares; context 0 is the header, whose callee field never
 * equals a valid id. */
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

/* Store that context `id` was called, so that it is predicted next time. (For
 * a predicted one it is enough to set last_child.) */
static inline void
fd_tree_note(fd_tree *tree, uint32_t id)
{
    fd_context *parent = tree->current;
    uint32_t latest = parent->last_child != 0 ? parent->last_child : id;
    fd_tree_context(tree, latest)->successor = id;
    parent->last_child = id;
}

#endif
