#include "capture/operators/records.h"

#include "base/hidden_result.h"
#include "capture/operators/backward.h"
#include "capture/operators/comm_calls.h"
#include "capture/operators/node_calls.h"
#include "capture/operators/operator_calls.h"
#include "capture/operators/ranges.h"
#include "capture/operators/shape_calls.h"
#include "capture/state/native_thread.h"
#include "capture/torch/record_layout.h"

/* Handle of the registered callbacks; 0: none. Changed under the lock of the
 * recording. */
static uint64_t listening;

/* Store the running context for the next autograd node, which it may
 * create. */
static inline void
store_number(fd_thread *thread, const void *record)
{
    int64_t number =
        (int64_t)fd_record_word(record, fd_record_layout->sequence);
    if (number >= 0) {
        fd_node_number(thread, (uint64_t)number,
                       fd_record_word(record, FD_RECORD_THREAD));
    }
}

static inline void
start_operator(fd_thread *thread, const void *record, bool timed)
{
    fd_session *session = thread->session;
    uint64_t schema = fd_record_word(record, FD_RECORD_FUNCTION);
    uint32_t node = fd_operators_find(&session->operators, schema);
    if (__builtin_expect(node == 0, false)) {
        node = fd_operators_add(&session->operators, session->recording,
                                schema, fd_torch.record_name(record));
    }
    fd_thread_tick(thread, timed);
    fd_tree *tree = thread->tree;
    fd_node_push(tree, fd_node_enter(tree, node, 0), record, FD_ENTRY_OP);
    store_number(thread, record);
}

static void
start_range(fd_thread *thread, const void *record, bool timed)
{
    if (fd_torch.record_is_async(record)) {
        fd_range_start_async(thread, fd_record_text(record), record, timed);
    }
    else {
        fd_range_start(thread, fd_record_text(record), record, timed);
    }
}

/* Begin an operation of C++ code whose name is a text. The record of a custom
 * autograd function begins before its node is created, and has the number of
 * the node. */
static void
start_named(fd_thread *thread, const void *record, bool timed)
{
    uint32_t node = fd_texts_node(thread, FD_NODE_OP, fd_record_text(record));
    fd_thread_tick(thread, timed);
    fd_node_push(thread->tree, fd_node_enter(thread->tree, node, 0), record,
                 FD_ENTRY_OP);
    store_number(thread, record);
}

static __attribute__((noinline)) void
start_other(fd_thread *thread, const void *record, bool timed)
{
    if (fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_BACKWARD) {
        fd_backward_start(thread, record, timed);
    }
    else if (fd_record_has_schema(record)) {
        start_operator(thread, record, timed);
    }
    else if (fd_backward_is_announcement(record)) {
        fd_backward_announce(thread, record, timed);
    }
    else if (fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_FUNCTION) {
        start_named(thread, record, timed);
    }
    else {
        start_range(thread, record, timed);
    }
}

/* Begin a record. Requires the section of the thread. */
static inline void
begin_record(fd_thread *thread, const void *record, bool timed)
{
    if (fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_FUNCTION
        && fd_record_has_schema(record)) {
        start_operator(thread, record, timed);
    }
    else {
        start_other(thread, record, timed);
    }
}

/* Begin a record and return the thread, inside its section. NULL: not
 * recorded. */
static inline fd_thread *
start_record(void **result, const void *record, bool timed)
{
    *result = NULL;
    fd_thread *thread = fd_native_enter();
    if (thread != NULL) {
        begin_record(thread, record, timed);
    }
    return thread;
}

/* End an entry that is not topmost, or a record without an entry: that of an
 * autograd node has none, because its call ends with its announcement. Return
 * false if the record is unknown. */
static __attribute__((noinline)) bool
end_other(fd_thread *thread, const void *record, bool timed)
{
    fd_tree *tree = thread->tree;
    int64_t at = fd_stack_find(tree, record, ~(uint32_t)FD_ENTRY_FRAME);
    if (at >= 0) {
        fd_range_end(thread, (uint32_t)at, timed);
        return true;
    }
    return fd_record_byte(record, FD_RECORD_SCOPE) == FD_SCOPE_BACKWARD
        || fd_asyncs_end(&thread->session->asyncs, tree, record, timed);
}

static void
count_unknown(const fd_thread *thread)
{
    fd_file_count(&thread->tree->recording->file, FD_COUNT_END_WITHOUT_START);
}

/* Store the number that torch.profiler gave to the call that has just ended,
 * if any. */
static void
identify_call(fd_tree *tree, const fd_entry *ended, uint64_t id)
{
    if (id != 0) {
        fd_tree_event(tree, (fd_event){.start = ended->start,
                                       .ticks = id,
                                       .context = ended->context,
                                       .kind = FD_EVENT_RECORD});
    }
}

/* End a record. Requires the section of the thread. Return false if the record
 * is unknown. */
static inline bool
end_record(fd_thread *thread, const void *record, bool timed)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    if (__builtin_expect(
            depth == 0 || tree->stack[depth - 1].owner != (uintptr_t)record
                || tree->stack[depth - 1].flags != FD_ENTRY_OP,
            false)) {
        return end_other(thread, record, timed);
    }
    fd_thread_tick(thread, timed);
    fd_tree_close(tree, depth - 1);
    if (__builtin_expect(tree->events.chunk != NULL, false)) {
        identify_call(tree, &tree->stack[depth - 1], fd_record_id(record));
    }
    return true;
}

static inline void *
start_plain(void **result, const void *record, bool timed)
{
    fd_thread *thread = start_record(result, record, timed);
    if (thread != NULL) {
        fd_native_leave(thread);
    }
    return result;
}

static inline void
end_plain(const void *record, bool timed)
{
    fd_thread *thread = fd_native_reenter();
    if (thread != NULL) {
        if (!end_record(thread, record, timed)) {
            count_unknown(thread);
        }
        fd_native_leave(thread);
    }
}

FD_HIDDEN_RESULT_DEFINE(timed_start);

FD_HIDDEN_RESULT
timed_start(void **result, const void *record)
{
    return start_plain(result, record, true);
}

static void
timed_end(const void *record, void *context)
{
    (void)context;
    end_plain(record, true);
}

/* End an asynchronous record on a thread without a tree. */
static void
end_elsewhere(fd_thread *thread, const void *record, bool timed)
{
    fd_section_enter(&thread->section);
    fd_session *session = fd_process_active();
    if (session != NULL && session->running) {
        fd_asyncs_end(&session->asyncs, NULL, record, timed);
    }
    fd_section_leave(&thread->section);
}

static inline void
measure_record(fd_thread *thread, const void *record)
{
    const fd_measure_plan *plan = &thread->session->measures;
    if ((plan->kinds & FD_MEASURING_FIGURES) != 0) {
        fd_shape_call_start(thread, record);
    }
    if ((plan->kinds & FD_MEASURING_COMM) != 0) {
        fd_comm_call_start(thread, record);
    }
}

/* Begin a record in a session that reads operands, for measures or execution
 * traces. */
FD_HIDDEN_RESULT_DEFINE(operands_start);

FD_HIDDEN_RESULT
operands_start(void **result, const void *record)
{
    *result = NULL;
    fd_thread *thread = fd_native_enter();
    if (thread == NULL) {
        return result;
    }
    const fd_session *session = thread->session;
    begin_record(thread, record, session->timed);
    if (session->operands) {
        fd_op_call_start(thread, record);
    }
    measure_record(thread, record);
    fd_native_leave(thread);
    return result;
}

static void
traced_end(const void *record, void *context)
{
    (void)context;
    fd_thread *thread = fd_thread_get();
    if (thread != NULL && thread->tree == NULL) {
        end_elsewhere(thread, record, true);
        return;
    }
    thread = fd_native_reenter();
    if (thread != NULL) {
        fd_op_call_end(thread, record);
        if (!end_record(thread, record, true)) {
            count_unknown(thread);
        }
        fd_native_leave(thread);
    }
}

FD_HIDDEN_RESULT_DEFINE(counted_start);

FD_HIDDEN_RESULT
counted_start(void **result, const void *record)
{
    return start_plain(result, record, false);
}

static void
counted_end(const void *record, void *context)
{
    (void)context;
    end_plain(record, false);
}

fd_status
fd_records_attach(fd_session *session, fd_thread *thread, PyObject *probe,
                  fd_error *error)
{
#if !defined(__x86_64__) && !defined(__aarch64__)
    /* See hidden_result.h. */
    return fd_fail(error, FD_EINVAL,
                   "records are supported on x86-64 and AArch64 only");
#endif
    fd_status status = fd_libtorch_find(error);
    if (status != FD_OK || fd_record_layout != NULL) {
        return status;
    }
    status = fd_layout_probe_begin();
    if (status != FD_OK) {
        return fd_fail(error, status, "PyTorch accepts no callback");
    }
    PyObject *returned = fd_session_call(session, thread, probe, NULL);
    uint64_t number =
        returned != NULL ? PyLong_AsUnsignedLongLong(returned) : 0;
    status = fd_layout_probe_end(number, error);
    Py_XDECREF(returned);
    return returned == NULL ? fd_fail(error, FD_EINVAL, "the self-test raised")
                            : status;
}

static fd_record_callback
callback_of(const fd_session *session)
{
    bool timed = session->timed;
    fd_record_callback callback = {
        .start = timed ? FD_HIDDEN_RESULT_ENTRY(timed_start)
                       : FD_HIDDEN_RESULT_ENTRY(counted_start),
        .end = timed ? timed_end : counted_end,
        .sampling_probability = 1.0,
        .needs_ids = session->recording->timeline.numbers,
    };
    if (session->measures.ready && !session->partial.rest) {
        callback.start = FD_HIDDEN_RESULT_ENTRY(operands_start);
        callback.needs_inputs = true;
    }
    if (session->operands) {
        callback.start = FD_HIDDEN_RESULT_ENTRY(operands_start);
        callback.end = traced_end;
        callback.needs_inputs = true;
        callback.needs_outputs = true;
        callback.needs_ids = true;
    }
    memset(callback.scopes, 1, sizeof callback.scopes);
    return callback;
}

static void
remove_callbacks(void)
{
    if (listening != 0) {
        fd_torch.remove_callback(listening);
        listening = 0;
    }
}

void
fd_records_listen(const fd_session *session)
{
    pthread_mutex_lock(&session->recording->lock);
    remove_callbacks();
    listening = fd_torch.add_global_callback(callback_of(session));
    pthread_mutex_unlock(&session->recording->lock);
}

void
fd_records_ignore(const fd_session *session)
{
    pthread_mutex_lock(&session->recording->lock);
    remove_callbacks();
    pthread_mutex_unlock(&session->recording->lock);
}
