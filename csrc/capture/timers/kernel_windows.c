#include "capture/timers/kernel_windows.h"

#include "capture/state/native_thread.h"
#include "json/json_writer.h"

#include <stdio.h>

/* Begin the log of a thread that launches kernels. Without memory, idle time
 * that it causes is not decided. */
static void
begin_log(fd_kernel_figures *figures, fd_tree *tree, uint64_t now)
{
    fd_running_log *log =
        fd_running_log_new(fd_tree_id(tree, tree->root), now);
    if (log != NULL) {
        fd_kernel_figures_watch(figures, log);
        tree->running = log;
    }
}

/* Return what a thread runs that launches a kernel, and note it in its log. */
static fd_launcher
call_of_tree(fd_tree *tree, uint64_t now)
{
    const fd_op_log *log = &tree->ops;
    const fd_op_call *call =
        log->open.count > 0 && log->window == fd_thread_self->synced
            ? log->open.list[log->open.count - 1].call
            : NULL;
    fd_launcher found = {.context = fd_tree_id(tree, tree->current)};
    found.call = call != NULL ? fd_file_id(&tree->recording->file, call) : 0;
    /* NULL in a forked child, which is called by the parent's subscription. */
    const fd_kernel_collector *collector =
        fd_thread_self->session->timers.collector;
    if (tree->running == NULL && collector != NULL) {
        begin_log(collector->figures, tree, now);
    }
    if (tree->running != NULL) {
        enum { UP = (1 << FD_LOG_UNIT) - 1 }; /* not before the launch */
        fd_running_log_put(tree->running, now + UP, found.context);
        found.log = tree->running->number;
    }
    return found;
}

/* Return what a thread runs that had no event yet in this window, such as one
 * of NCCL: its root, which has its role. */
static fd_launcher
call_of_new_thread(uint64_t now)
{
    fd_launcher found = {.context = 0};
    fd_thread *thread = fd_native_enter();
    if (thread != NULL) {
        found = call_of_tree(thread->tree, now);
        fd_native_leave(thread);
    }
    return found;
}

/* Return what this thread runs, on which CUPTI calls. Any thread may call it,
 * with or without the GIL. */
static fd_launcher
running_call(uint64_t now)
{
    fd_launcher found = {.context = 0};
    fd_thread *thread = fd_thread_self;
    bool inside = thread != NULL && thread->section.inside;
    if (thread != NULL && !inside) {
        fd_section_enter(&thread->section);
    }
    bool ready = thread != NULL && thread->tree != NULL
              && thread->synced == fd_process_generation();
    if (ready) {
        found = call_of_tree(thread->tree, now);
    }
    if (thread != NULL && !inside) {
        fd_section_leave(&thread->section);
    }
    return ready || inside ? found : call_of_new_thread(now);
}

/* Let the log of this thread be that of the one that runs the steps. */
static void
follow_steps(fd_session *session, fd_thread *thread)
{
    fd_kernel_collector *collector = session->timers.collector;
    if (collector == NULL || thread == NULL || thread->tree == NULL
        || thread->serial != session->serial) {
        return;
    }
    uint64_t now = fd_clock_ticks();
    if (thread->tree->running == NULL) {
        begin_log(collector->figures, thread->tree, now);
    }
    if (thread->tree->running != NULL) {
        fd_running_log_put(thread->tree->running, now,
                           fd_tree_id(thread->tree, thread->tree->current));
        collector->figures->main = thread->tree->running;
    }
}

/* Return the current device if PyTorch's current stream has no work, else
 * -1. */
static int
idle_device(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    fd_error error;
    fd_stream_memory memory = {.known = false};
    void *stream;
    int device = -1;
    if (plan->runtime.library == NULL
        && fd_gpu_runtime_find(&plan->runtime, &error) != FD_OK) {
        return -1;
    }
    bool known =
        thread != NULL && fd_current_stream_find(&plan->stream)
        && fd_gpu_is_clean(&plan->runtime)
        && fd_gpu_result(&plan->runtime, plan->runtime.get_device(&device))
               == FD_GPU_SUCCESS
        && fd_current_stream_get(&plan->stream, device, &memory, &stream)
        && fd_gpu_stream_is_idle(&plan->runtime, stream);
    return known ? device : -1;
}

bool
fd_timers_ask(fd_session *session, fd_thread *thread, PyObject *function)
{
    PyObject *result = function == NULL || thread == NULL
                         ? NULL
                         : fd_session_call(session, thread, function, NULL);
    bool yes = result == Py_True;
    Py_XDECREF(result);
    return yes;
}

/* Return whether torch.profiler uses CUPTI, or is about to. */
static bool
is_taken(fd_session *session, fd_thread *thread)
{
    return fd_timers_ask(session, thread, session->timers.is_profiled);
}

static bool
find_collector(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    fd_error error = {""};
    if (plan->collector == NULL && plan->why_no_kernels[0] == '\0'
        && fd_timers_ask(session, thread, plan->in_use)
        && fd_kernels_open(&plan->collector, session->recording, running_call,
                           &error)
               != FD_OK) {
        plan->collector = NULL;
        snprintf(plan->why_no_kernels, sizeof plan->why_no_kernels, "%.150s",
                 error.text);
    }
    return plan->collector != NULL;
}

static void
begin_window(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    /* The rest of a step begins inside of a hook, and is not counted. */
    plan->collecting =
        plan->kernels && session->timed && !plan->closed
        && !session->partial.rest && find_collector(session, thread)
        && fd_kernels_start(plan->collector, is_taken(session, thread),
                            idle_device(session, thread));
    if (plan->collecting) {
        follow_steps(session, thread);
    }
}

void
fd_kernel_windows_begin(fd_session *session, fd_thread *thread)
{
    session->timers.last_collected = session->steps.number;
    begin_window(session, thread);
}

/* Count the step that ends, if its kernels are collected. */
static void
count_step(fd_timer_plan *plan)
{
    if (plan->collecting) {
        plan->collected++;
        fd_kernels_step(plan->collector);
    }
}

void
fd_kernel_windows_step(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    bool next = session->steps.number != plan->last_collected;
    if (plan->closed) {
        return;
    }
    if (plan->collector != NULL) {
        fd_kernels_settle(plan->collector, is_taken(session, thread));
        plan->collecting = plan->collector->state == FD_KERNELS_ON;
    }
    if (session->running && next) {
        count_step(plan);
        plan->last_collected = session->steps.number;
        if (!plan->collecting) {
            begin_window(session, thread);
        }
        else {
            follow_steps(session, thread);
        }
    }
}

void
fd_kernel_windows_end(fd_session *session)
{
    fd_timer_plan *plan = &session->timers;
    if (plan->collecting) {
        /* Do not count it at the start of a step. */
        if (session->steps.number != plan->last_collected) {
            count_step(plan);
        }
        plan->collecting = false;
        follow_steps(session, fd_thread_self);
        fd_kernels_pause(plan->collector, is_taken(session, fd_thread_self));
    }
}

static void
note_problem(const fd_session *session)
{
    fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    fd_json_begin_object(&w, NULL);
    fd_json_put_text(&w, "problem", session->timers.why_no_kernels);
    fd_json_end_object(&w);
    fd_buffer_bytes(&text, "", 1); /* terminating NUL */
    if (text.status == FD_OK) {
        fd_recording_note(session->recording, "gpu_kernels", text.bytes);
    }
    fd_buffer_clear(&text);
}

void
fd_kernel_windows_close(fd_session *session)
{
    fd_timer_plan *plan = &session->timers;
    if (plan->collector != NULL) {
        fd_kernels_close(plan->collector, is_taken(session, fd_thread_self));
        plan->collector = NULL;
    }
    else if (plan->why_no_kernels[0] != '\0') {
        note_problem(session);
    }
}
