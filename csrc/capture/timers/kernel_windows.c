#include "capture/timers/kernel_windows.h"

#include "json/json_writer.h"

#include <stdio.h>

/* Return what this thread runs, on which CUPTI calls. Any thread may call it,
 * with or without the GIL. */
static fd_launcher
running_call(void)
{
    fd_launcher found = {.context = 0};
    fd_thread *thread = fd_thread_self;
    if (thread == NULL) {
        return found;
    }
    bool inside = thread->section.inside;
    if (!inside) {
        fd_section_enter(&thread->section);
    }
    const fd_tree *tree = thread->tree;
    if (tree != NULL && thread->synced == fd_process_generation()) {
        const fd_op_log *log = &tree->ops;
        const fd_op_call *call =
            log->open.count > 0 && log->window == thread->synced
                ? log->open.list[log->open.count - 1].call
                : NULL;
        found.context = fd_tree_id(tree, tree->current);
        found.call =
            call != NULL ? fd_file_id(&tree->recording->file, call) : 0;
    }
    if (!inside) {
        fd_section_leave(&thread->section);
    }
    return found;
}

/* Call a function of the session that returns whether something is so. */
static bool
asks_program(fd_session *session, fd_thread *thread, PyObject *function)
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
    return asks_program(session, thread, session->timers.is_profiled);
}

static bool
find_collector(fd_session *session, fd_thread *thread)
{
    fd_timer_plan *plan = &session->timers;
    fd_error error = {""};
    if (plan->collector == NULL && plan->why_no_kernels[0] == '\0'
        && asks_program(session, thread, plan->in_use)
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
        && fd_kernels_start(plan->collector, is_taken(session, thread));
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
