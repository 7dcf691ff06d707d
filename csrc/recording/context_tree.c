#include "recording/context_tree.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "recording/thread_clock.h"

#include <string.h>
#include <unistd.h>

enum {
    FIRST_RECORDS = 4 * 1024, /* bytes; enough for most threads */
    FIRST_OP_CALLS = 16 * 1024,
    FIRST_STACK = 4 * 1024,
    MAX_SAME_ON_PATH = 8, /* beyond it, recursion reuses an ancestor */
    OVERFLOW_RESERVE = 16 /* one overflow context per 16 contexts beyond the
                             limit */
};

static const uint32_t ALIAS = UINT32_C(1) << 31; /* flag of ids in the index */

static uint64_t
hash_of(uint32_t parent, const fd_callee *callee)
{
    uint64_t hash = fd_hash_word((uint64_t)parent << 32 | callee->node);
    return fd_hash_next(hash, (uint64_t)callee->module << 32 | callee->origin);
}

static bool
is_alias(const fd_alias *alias, uint32_t parent, const fd_callee *callee)
{
    return alias->parent == parent && alias->node == callee->node
        && alias->module == callee->module && alias->origin == callee->origin;
}

static bool
is_context(const fd_context *context, uint32_t parent, const fd_callee *callee)
{
    return context->parent == parent && context->node == callee->node
        && context->module == callee->module
        && context->origin == callee->origin;
}

static fd_context *
find_context(const fd_tree *tree, uint32_t parent, const fd_callee *callee,
             uint64_t hash)
{
    fd_probe probe = fd_index_probe(&tree->index, hash);
    uint32_t id;
    while ((id = fd_index_next(&tree->index, &probe)) != 0) {
        if ((id & ALIAS) != 0) {
            const fd_alias *alias = &tree->aliases.list[id & ~ALIAS];
            if (is_alias(alias, parent, callee)) {
                return fd_tree_context(tree, alias->target);
            }
        }
        else if (is_context(fd_tree_context(tree, id), parent, callee)) {
            return fd_tree_context(tree, id);
        }
    }
    return NULL;
}

/* Give a new chunk of contexts a parallel chunk of spreads. If the spreads do
 * not fit, the contexts still count, but have no figures per step. The caller
 * has reserved space in the list. */
static void
pair_chunk(fd_tree *tree)
{
    fd_chunk *hot = tree->contexts.chunk;
    fd_chunk *cold;
    if (fd_file_chunk(&tree->recording->file, FD_CHUNK_SPREADS,
                      sizeof(fd_spread), hot->bytes, hot->owner, &cold)
        == FD_OK) {
        hot->partner = fd_file_id(&tree->recording->file, cold);
        cold->used = cold->capacity; /* they are zero until a step ends */
    }
    tree->chunks.list[tree->chunks.count++] = hot;
}

static fd_context *
reserve_context(fd_tree *tree)
{
    const fd_chunk *before = tree->contexts.chunk;
    /* Reserve space in the list first: a chunk missing from the list would
     * never get its steps. */
    if (fd_vector_reserve(&tree->chunks, 1) != FD_OK) {
        return NULL;
    }
    fd_context *context = fd_pool_reserve(&tree->contexts, 1);
    if (context != NULL && tree->contexts.chunk != before) {
        pair_chunk(tree);
    }
    return context;
}

/* Return the id of the spread of a context: the same index in the parallel
 * chunk. */
static uint32_t
spread_of(const fd_tree *tree, const fd_context *context)
{
    const fd_chunk *hot = tree->contexts.chunk;
    if (hot->partner == 0) {
        return 0;
    }
    return fd_tree_id(tree, context) - fd_file_id(&tree->recording->file, hot)
         + hot->partner;
}

/* Return the phase of the caller, if it has one. Inside a closure of
 * Optimizer.step, each call sets its own phase. */
static uint32_t
phase_of(const fd_context *parent, const fd_node *node,
         const fd_callee *callee)
{
    uint32_t phase = parent != NULL ? parent->flags & FD_CONTEXT_PHASE : 0;
    if (phase != FD_PHASE_OTHER && phase != FD_PHASE_OPTIMIZER) {
        return phase;
    }
    if ((node->flags & FD_NODE_PHASE) != 0) {
        return node->flags & FD_NODE_PHASE;
    }
    return callee->module != 0 ? FD_PHASE_FORWARD : phase;
}

static uint32_t
flags_of(const fd_context *parent, const fd_node *node,
         const fd_callee *callee)
{
    uint32_t flags = phase_of(parent, node, callee);
    if (node->kind == FD_NODE_OVERFLOW) {
        flags |= FD_CONTEXT_ABSORBS;
    }
    if ((node->flags & FD_NODE_FOLD) != 0) {
        flags |= FD_CONTEXT_FOLDS;
    }
    return flags;
}

/* Append a context. The caller holds the recording's lock. */
static fd_context *
append_context(fd_tree *tree, fd_context *parent, const fd_callee *callee,
               uint64_t hash)
{
    fd_recording *recording = tree->recording;
    fd_context *context = reserve_context(tree);
    if (context == NULL) {
        return NULL;
    }
    uint32_t id = fd_tree_id(tree, context);
    if (fd_index_add(&tree->index, hash, id) != FD_OK) {
        return NULL;
    }
    *context = (fd_context){
        .parent = parent != NULL ? fd_tree_id(tree, parent) : 0,
        .node = callee->node,
        .module = callee->module,
        .origin = callee->origin,
        .flags = flags_of(
            parent, fd_file_record(&recording->file, callee->node), callee),
        .spread = spread_of(tree, context),
    };
    fd_pool_publish(&tree->contexts, 1);
    recording->contexts++;
    if (parent != NULL) {
        fd_nodes_edge(&recording->nodes, parent->node, callee->node);
    }
    return context;
}

static fd_context *
create_context(fd_tree *tree, fd_context *parent, const fd_callee *callee,
               uint64_t hash)
{
    pthread_mutex_lock(&tree->recording->lock);
    fd_context *context = append_context(tree, parent, callee, hash);
    pthread_mutex_unlock(&tree->recording->lock);
    return context;
}

/* Return the nearest context with this node, from `parent` upwards, if the
 * path already contains it MAX_SAME_ON_PATH times, else NULL. */
static fd_context *
recursive_context(const fd_tree *tree, fd_context *parent, uint32_t node)
{
    fd_context *nearest = NULL;
    int same = 0;
    for (fd_context *at = parent; at != tree->root;
         at = fd_tree_context(tree, at->parent)) {
        if (at->node == node) {
            nearest = nearest != NULL ? nearest : at;
            same++;
        }
    }
    return same >= MAX_SAME_ON_PATH ? nearest : NULL;
}

static fd_context *
fold_recursion(fd_tree *tree, uint32_t parent, const fd_callee *callee,
               fd_context *target, uint64_t hash)
{
    fd_alias alias = {parent, callee->node, callee->module, callee->origin,
                      fd_tree_id(tree, target)};
    if (fd_vector_push(&tree->aliases, alias) == FD_OK
        && fd_index_add(&tree->index, hash, (tree->aliases.count - 1) | ALIAS)
               == FD_OK) {
        fd_file_count(&tree->recording->file, FD_COUNT_RECURSION_FOLDED);
    }
    return target;
}

/* Return the context to use if there is no space: an <overflow> below the
 * caller while the reserve lasts, then the one of the whole tree. */
static fd_context *
overflow_context(fd_tree *tree, fd_context *parent)
{
    fd_recording *recording = tree->recording;
    fd_callee callee = {recording->overflow_node, 0, 0};
    uint32_t id = fd_tree_id(tree, parent);
    uint64_t hash = hash_of(id, &callee);
    fd_context *context = find_context(tree, id, &callee, hash);
    uint32_t max = recording->limits.max_contexts;
    if (context == NULL
        && recording->contexts < max + max / OVERFLOW_RESERVE) {
        context = create_context(tree, parent, &callee, hash);
    }
    return context != NULL ? context : tree->overflow;
}

fd_context *
fd_tree_unfolded(fd_tree *tree, fd_context *parent, const fd_callee *callee)
{
    uint32_t id = fd_tree_id(tree, parent);
    uint64_t hash = hash_of(id, callee);
    fd_context *context = find_context(tree, id, callee, hash);
    if (context != NULL) {
        return context;
    }
    if (callee->node == 0
        || tree->recording->contexts >= tree->recording->limits.max_contexts) {
        return overflow_context(tree, parent);
    }
    fd_context *ancestor = recursive_context(tree, parent, callee->node);
    if (ancestor != NULL) {
        return fold_recursion(tree, id, callee, ancestor, hash);
    }
    context = create_context(tree, parent, callee, hash);
    return context != NULL ? context : overflow_context(tree, parent);
}

fd_context *
fd_tree_absorbing(fd_tree *tree, fd_context *parent)
{
    if ((parent->flags & FD_CONTEXT_ABSORBS) != 0) {
        return parent;
    }
    if ((parent->flags & FD_CONTEXT_FOLDS) != 0) {
        fd_callee folded = {tree->recording->folded_node, 0, 0};
        return fd_tree_unfolded(tree, parent, &folded);
    }
    return NULL;
}

fd_context *
fd_tree_child(fd_tree *tree, fd_context *parent, const fd_callee *callee)
{
    fd_context *absorbing = fd_tree_absorbing(tree, parent);
    return absorbing != NULL ? absorbing
                             : fd_tree_unfolded(tree, parent, callee);
}

void
fd_tree_event(fd_tree *tree, fd_event event)
{
    fd_events *events = &tree->events;
    fd_recording *recording = tree->recording;
    fd_event *at = events->next;
    if (at == events->end && !events->full) {
        pthread_mutex_lock(&recording->lock);
        at = fd_events_room(events, &recording->timeline, &recording->file,
                            tree->record);
        pthread_mutex_unlock(&recording->lock);
    }
    tree->record->events++;
    if (at == NULL || at == events->end) {
        tree->record->events_lost++;
        return;
    }
    fd_events_put(events, at, event);
}

/* Store `ticks` before `flags`, so that a reader that sees the end flag also
 * sees the duration. */
void
fd_tree_job_ended(fd_tree *tree, fd_job *job, uint32_t context)
{
    uint64_t ticks = tree->record->last - job->start;
    job->context = context;
    job->ticks = ticks;
    atomic_thread_fence(memory_order_release);
    job->flags &= ~(uint32_t)FD_JOB_OPEN;
    if (tree->events.chunk != NULL
        && ticks >= tree->events.shortest[FD_TIMELINE_JOBS]) {
        fd_tree_event(tree, (fd_event){job->start, ticks,
                                       fd_file_id(&tree->recording->file, job),
                                       FD_EVENT_JOB, 0});
    }
}

/* Jobs without a record have no event in the timeline either. */
static bool
is_job(const fd_tree *tree, const fd_context *context)
{
    const fd_node *node =
        fd_file_record(&tree->recording->file, context->node);
    return node->kind == FD_NODE_JOB;
}

void
fd_tree_ended(fd_tree *tree, uint32_t at)
{
    enum {
        NO_CALL = FD_ENTRY_CONTRACTED | FD_ENTRY_PENDING | FD_ENTRY_ENGINE
    };
    const fd_entry *entry = &tree->stack[at];
    if (!fd_tree_keeps_ends(tree)) {
        return;
    }
    fd_job *job = fd_tree_job_of(tree, entry);
    if (job != NULL) {
        bool pending = (entry->flags & FD_ENTRY_PENDING) != 0;
        fd_tree_job_ended(tree, job, pending ? 0 : entry->context);
        return;
    }
    if ((entry->flags & NO_CALL) != 0 || tree->events.chunk == NULL) {
        return;
    }
    const fd_context *context = fd_tree_context(tree, entry->context);
    int kind = (entry->flags & FD_ENTRY_FRAME) != 0 ? FD_TIMELINE_PYTHON
             : (entry->flags & FD_ENTRY_OP) != 0    ? FD_TIMELINE_OPS
                                                    : FD_TIMELINE_RANGES;
    if (kind != FD_TIMELINE_RANGES || !is_job(tree, context)) {
        fd_tree_called(tree, entry, context, kind);
    }
}

static fd_status
new_stack(fd_tree *tree, uint32_t bytes)
{
    fd_chunk *chunk;
    fd_status status = fd_file_chunk(
        &tree->recording->file, FD_CHUNK_STACK, sizeof(fd_entry), bytes,
        fd_file_id(&tree->recording->file, tree->record), &chunk);
    if (status != FD_OK) {
        return status;
    }
    fd_entry *entries = fd_chunk_records(chunk);
    if (tree->stack != NULL) {
        memcpy(entries, tree->stack, fd_tree_depth(tree) * sizeof *entries);
    }
    tree->stack = entries;
    tree->record->stack = chunk->offset + sizeof *chunk;
    tree->record->capacity = chunk->capacity;
    return FD_OK;
}

fd_status
fd_tree_grow_stack(fd_tree *tree)
{
    uint32_t capacity = tree->record->capacity;
    pthread_mutex_lock(&tree->recording->lock);
    fd_status status =
        new_stack(tree, 2 * capacity * (uint32_t)sizeof(fd_entry));
    pthread_mutex_unlock(&tree->recording->lock);
    return status;
}

static fd_pool
own_pool(const fd_tree *tree, uint32_t kind, uint32_t record_bytes,
         uint32_t first_bytes)
{
    fd_file *file = &tree->recording->file;
    fd_pool pool = fd_pool_of(file, kind, record_bytes, first_bytes);
    pool.owner = fd_file_id(file, tree->record);
    return pool;
}

void
fd_tree_make_pools(fd_tree *tree)
{
    fd_op_log *ops = &tree->ops;
    tree->contexts =
        own_pool(tree, FD_CHUNK_CONTEXTS, sizeof(fd_context), FIRST_RECORDS);
    tree->jobs = own_pool(tree, FD_CHUNK_JOBS, sizeof(fd_job), FIRST_RECORDS);
    tree->measures.pool =
        own_pool(tree, FD_CHUNK_MEASURES, sizeof(fd_measure), FIRST_RECORDS);
    ops->calls =
        own_pool(tree, FD_CHUNK_OP_CALLS, sizeof(fd_op_call), FIRST_OP_CALLS);
    ops->operands =
        own_pool(tree, FD_CHUNK_OPERANDS, sizeof(uint64_t), FIRST_OP_CALLS);
}

/* Create the root and the reserved contexts. The caller holds the lock. */
static fd_status
plant_root(fd_tree *tree, const char *role)
{
    fd_recording *recording = tree->recording;
    fd_node_spec spec = {.kind = FD_NODE_THREAD, .name = role};
    fd_callee root = {fd_nodes_add(&recording->nodes, &spec, NULL), 0, 0};
    fd_callee rest = {recording->overflow_node, 0, 0};
    tree->record = fd_pool_reserve(&recording->threads, 1);
    if (tree->record == NULL || root.node == 0) {
        return FD_EFULL;
    }
    *tree->record = (fd_thread_record){
        .role = fd_strings_add(&recording->strings, role, strlen(role))};
    fd_tree_make_pools(tree);
    tree->root = append_context(tree, NULL, &root, 0);
    if (tree->root == NULL || new_stack(tree, FIRST_STACK) != FD_OK) {
        return FD_EFULL;
    }
    uint32_t id = fd_tree_id(tree, tree->root);
    tree->overflow =
        append_context(tree, tree->root, &rest, hash_of(id, &rest));
    if (tree->overflow == NULL) {
        return FD_EFULL;
    }
    tree->record->root = id;
    fd_events_open(&tree->events, &recording->timeline, &recording->file,
                   tree->record);
    fd_pool_publish(&recording->threads, 1);
    return FD_OK;
}

static fd_tree *
new_tree(fd_recording *recording, const char *role)
{
    fd_tree *tree = fd_calloc(1, sizeof *tree);
    if (tree == NULL) {
        return NULL;
    }
    tree->recording = recording;
    tree->base = recording->file.base;
    if (plant_root(tree, role) != FD_OK) {
        fd_tree_free(tree);
        return NULL;
    }
    tree->next = recording->trees;
    recording->trees = tree;
    return tree;
}

static fd_tree *
free_tree(const fd_recording *recording, const char *role)
{
    for (fd_tree *tree = recording->trees; tree != NULL; tree = tree->next) {
        if (tree->record->running == FD_THREAD_NONE
            && strcmp(fd_strings_text(&recording->file, tree->record->role),
                      role)
                   == 0) {
            return tree;
        }
    }
    return NULL;
}

fd_tree *
fd_tree_attach(fd_recording *recording, const char *role, uint32_t system_id)
{
    pthread_mutex_lock(&recording->lock);
    fd_tree *tree = free_tree(recording, role);
    if (tree == NULL) {
        tree = new_tree(recording, role);
    }
    if (tree != NULL) {
        tree->record->running = FD_THREAD_RUNS;
        tree->record->system_id = system_id;
        tree->record->served++;
        tree->root->calls++;
    }
    else {
        fd_file_count(&recording->file, FD_COUNT_THREADS_FULL);
    }
    pthread_mutex_unlock(&recording->lock);
    return tree;
}

/* Exclude CPU time before this instant from the record. */
static void
start_cpu(fd_tree *tree)
{
    const fd_thread_record *record = tree->record;
    uint64_t now = 0;
    tree->cpu_known = fd_file_header(&tree->recording->file)->timing != 0
                   && fd_thread_cpu(record->system_id, &now);
    tree->cpu_offset = now - record->cpu;
}

/* The same for its time without a CPU. */
static void
start_queued(fd_tree *tree)
{
    fd_thread_turns turns = {0, 0, 0};
    uint32_t id = tree->record->system_id;
    tree->queued_known = tree->cpu_known && id == (uint32_t)getpid()
                      && fd_thread_turns_of(id, &turns);
    tree->queued_offset = turns.queued - tree->queued;
}

void
fd_tree_read_cpu(fd_tree *tree)
{
    uint64_t now;
    if (tree->record->attached != 0 && tree->cpu_known
        && fd_thread_cpu(tree->record->system_id, &now)) {
        tree->record->cpu = now - tree->cpu_offset;
    }
}

void
fd_tree_read_queued(fd_tree *tree)
{
    fd_thread_turns turns;
    if (tree->record->attached != 0 && tree->queued_known
        && fd_thread_turns_of(tree->record->system_id, &turns)) {
        tree->queued = turns.queued - tree->queued_offset;
    }
}

void
fd_tree_start(fd_tree *tree)
{
    fd_tree_close(tree, 0); /* entries left open by the last window */
    tree->pending = 0;
    tree->ops.open.count = 0;
    start_cpu(tree);
    start_queued(tree);
    tree->record->running = FD_THREAD_RUNS;
    tree->record->attached = fd_clock_ticks();
    tree->record->last = tree->record->attached;
}

void
fd_tree_settle(fd_tree *tree, uint64_t now)
{
    fd_thread_record *record = tree->record;
    if (record->attached == 0) {
        return;
    }
    if (fd_file_header(&tree->recording->file)->timing != 0) {
        fd_tree_tick(tree, now);
    }
    fd_tree_read_cpu(tree);
    fd_tree_read_queued(tree);
    record->covered += record->last - record->attached;
    record->attached = 0;
}

void
fd_tree_release(fd_tree *tree)
{
    fd_recording *recording = tree->recording;
    pthread_mutex_lock(&recording->lock);
    fd_tree_settle(tree, fd_clock_ticks());
    pthread_mutex_unlock(&recording->lock);
    fd_tree_close(tree, 0); /* may need the lock for its timeline */
    pthread_mutex_lock(&recording->lock);
    tree->record->running = FD_THREAD_NONE;
    pthread_mutex_unlock(&recording->lock);
}

void
fd_tree_leave(fd_tree *tree)
{
    pthread_mutex_lock(&tree->recording->lock);
    tree->record->running = FD_THREAD_NONE;
    pthread_mutex_unlock(&tree->recording->lock);
}

void
fd_tree_free(fd_tree *tree)
{
    fd_index_clear(&tree->index);
    fd_vector_clear(&tree->aliases);
    fd_vector_clear(&tree->chunks);
    fd_events_clear(&tree->events);
    fd_op_log_clear(&tree->ops);
    fd_measures_clear(&tree->measures);
    fd_free(tree->running);
    fd_free(tree);
}
