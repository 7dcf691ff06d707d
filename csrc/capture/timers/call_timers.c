#include "capture/timers/call_timers.h"

#include "base/glob.h"
#include "capture/timers/kernel_windows.h"

enum {
    SAMPLED_FIRST = 8, /* the 9th recorded step is sampled, ... */
    SAMPLED_EACH = 32, /* ... and then one in 32 */
    SLICE_MS = 20,     /* part of a wait between two checks for signals */
    MOST_AROUND = 64
};

void
fd_timer_plan_clear(fd_timer_plan *plan)
{
    for (uint32_t i = 0; i < plan->globs.count; i++) {
        fd_free(plan->globs.list[i]);
    }
    fd_vector_clear(&plan->globs);
    if (plan->gpu != NULL) {
        fd_gpu_free(plan->gpu);
    }
    if (plan->collector != NULL) {
        fd_kernels_close(plan->collector, true);
    }
    plan->collector = NULL;
    plan->gpu = NULL;
}

/* Return whether calls are marked: selected ones, or modules because there are
 * no kernels. */
static bool
marks_calls(const fd_timer_plan *plan)
{
    return plan->modules || plan->functions || plan->jobs
        || plan->globs.count > 0 || !plan->collecting;
}

static bool
find_gpu(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    if (plan->gpu == NULL && marks_calls(plan)
        && fd_timers_ask(session, thread, plan->in_use)
        && fd_current_stream_find(&plan->stream)
        && fd_gpu_open(&plan->gpu, session->recording, NULL) != FD_OK) {
        plan->gpu = NULL;
    }
    return plan->gpu != NULL;
}

/* Decide whether to sample the step that begins. */
static bool
decide_step(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    plan->last = session->steps.number;
    if (!plan->wanted || !session->timed) {
        return false;
    }
    const fd_gpu *before = plan->gpu;
    plan->sampled += plan->sampling; /* count the step that ends */
    bool sampled =
        (plan->always || plan->recorded++ % SAMPLED_EACH == SAMPLED_FIRST)
        && find_gpu(session, thread) && marks_calls(plan);
    bool changed = sampled != plan->sampling || before != plan->gpu;
    plan->sampling = sampled;
    return changed;
}

bool
fd_timers_window(fd_session *session, fd_thread *thread)
{
    if (session->timers.gpu != NULL) {
        fd_gpu_drain(session->timers.gpu, false);
    }
    fd_kernel_windows_begin(session, thread);
    return decide_step(session, thread);
}

bool
fd_timers_step(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    if (plan->gpu != NULL) {
        fd_gpu_drain(plan->gpu, session->running);
    }
    fd_kernel_windows_step(session, thread);
    return session->running && session->steps.number != plan->last
        && decide_step(session, thread);
}

void
fd_timers_pause(fd_session *session)
{
    fd_timer_plan *plan = &session->timers;
    bool over = session->steps.number != plan->last;
    /* Do not count it at the start of a step. */
    plan->sampled += plan->sampling && over;
    plan->sampling = false;
    if (plan->gpu != NULL) {
        fd_gpu_drain(plan->gpu, false);
    }
    fd_kernel_windows_end(session);
}

/* Wait for intervals and kernels, for at most `patience_ms`. Return whether
 * some remain. */
static bool
wait_for_gpu(fd_timer_plan *plan, int patience_ms)
{
    bool waits = plan->gpu != NULL && fd_gpu_wait(plan->gpu, patience_ms);
    return (plan->collector != NULL
            && fd_kernels_wait(plan->collector, waits ? 1 : patience_ms))
        || waits;
}

int
fd_timers_wait(fd_session *session, int patience_ms)
{
    fd_timer_plan *plan = &session->timers;
    bool waits = !plan->closed;
    for (int left = patience_ms; waits && left > 0; left -= SLICE_MS) {
        Py_BEGIN_ALLOW_THREADS
            waits = wait_for_gpu(plan, left < SLICE_MS ? left : SLICE_MS);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0) {
            return -1;
        }
    }
    return 0;
}

void
fd_timers_close(fd_session *session)
{
    fd_timer_plan *plan = &session->timers;
    if (plan->closed) {
        return;
    }
    plan->closed = true;
    uint64_t steps = plan->collected > 0 ? plan->collected : plan->sampled;
    bool used = plan->gpu != NULL || plan->collector != NULL;
    fd_kernel_windows_close(session);
    if (plan->gpu != NULL) {
        fd_gpu_drain(plan->gpu, false);
        fd_gpu_close(plan->gpu);
    }
    if (used) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)steps);
        fd_recording_note(session->recording, "gpu_steps", text);
    }
}

/* Return the timers of this thread in this session, or NULL if there is no
 * memory. */
static fd_thread_timers *
timers_of(fd_thread *thread)
{
    if (thread->timers == NULL) {
        thread->timers = fd_calloc(1, sizeof *thread->timers);
    }
    fd_thread_timers *timers = thread->timers;
    if (timers != NULL && timers->serial != thread->serial) {
        fd_map_clear(&timers->chosen);
        timers->open.count = 0; /* the earlier session has counted them */
        timers->stream.known = false;
        timers->serial = thread->serial;
    }
    return timers;
}

/* Return the index of the entry of an open timer, or -1 if the entry was
 * closed. */
static int64_t
entry_of(const fd_tree *tree, const fd_open_timer *timer)
{
    int64_t at = (int64_t)fd_tree_depth(tree) - 1;
    while (at >= 0
           && (tree->stack[at].owner != timer->owner
               || tree->stack[at].start != timer->start)) {
        at--;
    }
    return at;
}

static void
forget_timer(fd_thread_timers *timers, uint32_t at)
{
    timers->open.count--;
    for (uint32_t i = at; i < timers->open.count; i++) {
        timers->open.list[i] = timers->open.list[i + 1];
    }
}

/* Drop timers whose entries were closed. Entries are closed from the top, so
 * the search ends at the topmost timer with an entry. */
static void
reconcile_timers(fd_thread_timers *timers, const fd_tree *tree)
{
    while (timers->open.count > 0) {
        const fd_open_timer *last = &timers->open.list[timers->open.count - 1];
        if (entry_of(tree, last) >= 0) {
            return;
        }
        fd_gpu_device_drop(last->device, last->slot);
        timers->open.count--;
    }
}

static bool
glob_matches(const fd_session *session, uint32_t node)
{
    const fd_file *file = &session->recording->file;
    fd_buffer key = {.bytes = NULL};
    bool found = false;
    fd_node_key(file, fd_file_record(file, node), &key);
    fd_buffer_bytes(&key, "", 1);
    for (uint32_t i = 0;
         key.status == FD_OK && !found && i < session->timers.globs.count;
         i++) {
        found = fd_glob_matches(session->timers.globs.list[i], key.bytes);
    }
    fd_buffer_clear(&key);
    return found;
}

static bool
is_chosen(const fd_session *session, fd_thread_timers *timers, uint32_t node)
{
    if (session->timers.globs.count == 0 || node == 0) {
        return false;
    }
    uint32_t known = fd_map_get(&timers->chosen, node);
    if (known == 0) {
        known = glob_matches(session, node) ? 2 : 1;
        /* A failure is harmless: it is a cache. */
        fd_map_put(&timers->chosen, node, known);
    }
    return known == 2;
}

static bool
is_wanted(const fd_session *session, fd_thread_timers *timers,
          const fd_tree *tree, const fd_entry *entry)
{
    const fd_timer_plan *plan = &session->timers;
    const fd_context *context = fd_tree_context(tree, entry->context);
    uint32_t node = (entry->flags & FD_ENTRY_PENDING) != 0
                      ? entry->flags >> FD_ENTRY_NODE_SHIFT
                      : context->node;
    const fd_node *record = fd_file_record(&session->recording->file, node);
    if ((entry->flags & (FD_ENTRY_CONTRACTED | FD_ENTRY_ENGINE)) != 0
        || (context->flags & FD_CONTEXT_ABSORBS) != 0) {
        return false;
    }
    if ((entry->flags & FD_ENTRY_FRAME) != 0
        && (plan->functions
            || (fd_timers_modules(plan) && context->module != 0))) {
        return true;
    }
    if (node != 0 && record->kind == FD_NODE_JOB && plan->jobs) {
        return true;
    }
    return is_chosen(session, timers, node);
}

/* List the open timers of this thread on the device, outermost first. */
static uint32_t
open_timers(const fd_thread_timers *timers, const fd_gpu_device *device,
            uint32_t list[MOST_AROUND])
{
    uint32_t count = 0;
    uint32_t from = timers->open.count > MOST_AROUND
                      ? timers->open.count - MOST_AROUND
                      : 0;
    for (uint32_t i = from; i < timers->open.count; i++) {
        if (timers->open.list[i].device == device) {
            list[count++] = timers->open.list[i].slot;
        }
    }
    return count;
}

static bool
begin_timer(const fd_thread *thread, fd_thread_timers *timers,
            const fd_entry *entry)
{
    const fd_timer_plan *plan = &thread->session->timers;
    uint32_t open[MOST_AROUND];
    fd_gpu_call call = {
        .thread = fd_file_id(&thread->session->recording->file,
                             thread->tree->record),
        .around = open,
    };
    fd_gpu_device *device = fd_gpu_current(plan->gpu);
    if (device == NULL || fd_vector_reserve(&timers->open, 1) != FD_OK
        || !fd_current_stream_get(&plan->stream, device->number,
                                  &timers->stream, &call.stream)) {
        return false;
    }
    call.depth = open_timers(timers, device, open);
    uint32_t slot = fd_gpu_device_begin(device, &call);
    if (slot != 0) {
        timers->open.list[timers->open.count++] =
            (fd_open_timer){entry->owner, entry->start, device, slot};
    }
    return true;
}

void
fd_timers_begin(fd_thread *thread)
{
    const fd_session *session = thread->session;
    const fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    fd_thread_timers *timers =
        session->timers.gpu != NULL ? timers_of(thread) : NULL;
    if (timers == NULL || depth == 0) {
        return;
    }
    const fd_entry *entry = &tree->stack[depth - 1];
    reconcile_timers(timers, tree);
    if (is_wanted(session, timers, tree, entry)
        && !begin_timer(thread, timers, entry)) {
        fd_file_count(&session->recording->file, FD_COUNT_GPU_LOST);
    }
}

void
fd_timers_update_stream(fd_thread *thread)
{
    const fd_timer_plan *plan = &thread->session->timers;
    fd_thread_timers *timers =
        plan->stream.function != NULL ? timers_of(thread) : NULL;
    const fd_gpu_device *device =
        timers != NULL ? fd_gpu_current(plan->gpu) : NULL;
    void *handle;
    if (device != NULL) {
        fd_current_stream_get(&plan->stream, device->number, &timers->stream,
                              &handle);
    }
}

static void
end_timer(const fd_thread *thread, const fd_open_timer *timer,
          uint32_t context)
{
    fd_gpu *gpu = thread->session->timers.gpu;
    if (fd_gpu_current(gpu) == timer->device) {
        fd_gpu_device_end(timer->device, timer->slot, context);
    }
    else {
        fd_gpu_device_drop(timer->device, timer->slot);
    }
}

void
fd_timers_end(fd_thread *thread, uint32_t from, bool above)
{
    fd_thread_timers *timers = thread->timers;
    const fd_tree *tree = thread->tree;
    if (timers->serial != thread->serial) {
        return;
    }
    for (uint32_t i = timers->open.count; i-- > 0;) {
        fd_open_timer timer = timers->open.list[i];
        int64_t at = entry_of(tree, &timer);
        if (at < 0) {
            fd_gpu_device_drop(timer.device, timer.slot);
            forget_timer(timers, i);
            continue;
        }
        const fd_entry *entry = &tree->stack[at];
        bool stays = (entry->flags & FD_ENTRY_RANGE) != 0 && at != from;
        if (at == from || (above && at > from && !stays)) {
            end_timer(thread, &timer, entry->context);
            forget_timer(timers, i);
        }
        if (at <= from) {
            return;
        }
    }
}
