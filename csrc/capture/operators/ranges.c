#include "capture/operators/ranges.h"

#include "capture/operators/node_calls.h"
#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"
#include "capture/timers/call_timers.h"

void
fd_range_start(fd_thread *thread, const char *name, const void *owner,
               bool timed)
{
    uint32_t node = fd_texts_node(thread, FD_NODE_RANGE, name);
    fd_thread_tick(thread, timed);
    if (node != 0 && fd_stack_make_room(thread->tree)) {
        fd_stack_push_range(thread->tree, node, owner);
        if (thread->session->timers.sampling) {
            fd_timers_begin(thread);
        }
        thread->generation = 0; /* make the next event settle the range */
    }
}

void
fd_range_end(fd_thread *thread, uint32_t at, bool timed)
{
    fd_tree *tree = thread->tree;
    if ((tree->stack[at].flags & FD_ENTRY_RANGE) != 0) {
        fd_stack_settle_to(tree, at);
    }
    fd_thread_end_timers(thread, at, false);
    fd_thread_tick(thread, timed);
    fd_stack_remove(tree, at);
}

void
fd_range_start_async(fd_thread *thread, const char *name, const void *owner,
                     bool timed)
{
    fd_session *session = thread->session;
    fd_callee callee = {fd_texts_node(thread, FD_NODE_RANGE, name), 0, 0};
    fd_thread_tick(thread, timed);
    if (callee.node != 0) {
        fd_asyncs_begin(
            &session->asyncs, &session->recording->file, owner,
            fd_tree_child(thread->tree, thread->tree->current, &callee));
    }
}

/* The owner of all pushed ranges, which end in reverse order. */
static const char pushed;

static fd_nvtx_what
kind_of(const PyCodeObject *code)
{
    static const char *const names[] = {"range_push", "range_pop",
                                        "range_start", "range_end"};
    int what = 0;
    while (what < FD_NVTX_END
           && PyUnicode_CompareWithASCIIString(code->co_name, names[what])
                  != 0) {
        what++;
    }
    return (fd_nvtx_what)what;
}

fd_nvtx_call
fd_nvtx_called(const fd_frame *frame)
{
    const PyCodeObject *code = fd_frame_code(frame);
    return (fd_nvtx_call){
        kind_of(code),
        code->co_argcount > 0 ? Py_XNewRef(fd_frame_local(frame, 0)) : NULL};
}

/* Return the owner of a range: an odd number, unlike the address of a
 * record. */
static const void *
owner_of(PyObject *id)
{
    unsigned long long number = PyLong_AsUnsignedLongLongMask(id);
    return (const void *)(uintptr_t)(number << 1 | 1);
}

static void
start_range(fd_thread *thread, const fd_nvtx_call *call, PyObject *result)
{
    bool timed = thread->session->timed;
    PyObject *text = fd_utf8_text_of(call->argument);
    const char *name = fd_utf8(text, NULL);
    if (name != NULL && call->what == FD_NVTX_PUSH) {
        fd_range_start(thread, name, &pushed, timed);
    }
    else if (name != NULL && PyLong_Check(result)) {
        fd_range_start_async(thread, name, owner_of(result), timed);
    }
    Py_XDECREF(text);
}

static void
end_range(fd_thread *thread, const fd_nvtx_call *call)
{
    fd_session *session = thread->session;
    int64_t at = call->what == FD_NVTX_POP
                   ? fd_stack_find(thread->tree, &pushed, FD_ENTRY_RANGE)
                   : -1;
    if (at >= 0) {
        fd_range_end(thread, (uint32_t)at, session->timed);
    }
    else if (call->what == FD_NVTX_END && PyLong_Check(call->argument)) {
        fd_asyncs_end(&session->asyncs, thread->tree, owner_of(call->argument),
                      session->timed);
    }
}

void
fd_nvtx_returned(fd_thread *thread, const fd_nvtx_call *call, PyObject *result)
{
    fd_guard guard = fd_guard_enter(thread);
    if (call->what == FD_NVTX_POP
        || (call->what == FD_NVTX_END && call->argument != NULL)) {
        end_range(thread, call);
    }
    else if (call->argument != NULL && PyUnicode_Check(call->argument)) {
        start_range(thread, call, result);
    }
    PyErr_Clear();
    fd_guard_leave(&guard);
    thread->generation = 0; /* make the next event settle the range */
}
