#include "capture/operators/dispatch.h"

#include "base/alloc.h"
#include "capture/frames/python_calls.h"
#include "capture/operators/node_calls.h"
#include "capture/operators/ranges.h"
#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"
#include "capture/torch/libtorch.h"

#include <string.h>

int
fd_dispatch_init(fd_dispatch *dispatch)
{
    PyObject *torch = PyImport_ImportModule("torch._C");
    if (torch == NULL) {
        return -1;
    }
    dispatch->autograd_node =
        PyObject_GetAttrString(torch, "_current_autograd_node");
    Py_DECREF(torch);
    return dispatch->autograd_node == NULL ? -1 : 0;
}

int
fd_dispatch_traverse(fd_dispatch *dispatch, visitproc visit, void *arg)
{
    Py_VISIT(dispatch->autograd_node);
    for (uint32_t i = 0; i < dispatch->list.count; i++) {
        Py_VISIT(dispatch->list.list[i]->function);
        Py_VISIT(dispatch->list.list[i]->call);
    }
    return 0;
}

static void
dispatched_free(fd_dispatched *known)
{
    Py_XDECREF(known->function);
    Py_XDECREF(known->call);
    Py_XDECREF(known->name);
    fd_free(known);
}

/* The lists are emptied first: a destructor may run an operator. */
void
fd_dispatch_clear(fd_dispatch *dispatch)
{
    fd_dispatch cleared = *dispatch;
    memset(&dispatch->list, 0, sizeof dispatch->list);
    memset(&dispatch->by_address, 0, sizeof dispatch->by_address);
    dispatch->autograd_node = NULL;
    Py_XDECREF(cleared.autograd_node);
    for (uint32_t i = 0; i < cleared.list.count; i++) {
        dispatched_free(cleared.list.list[i]);
    }
    fd_vector_clear(&cleared.list);
    fd_map_clear(&cleared.by_address);
}

/* Return "aten::add" for OpOverload aten.add.Tensor, as in records, without
 * the overload; for other (higher-order) operators, return their name. */
static PyObject *
name_of(PyObject *function)
{
    PyObject *schema = PyObject_GetAttrString(function, "_schema");
    PyObject *name =
        schema == NULL ? NULL : PyObject_GetAttrString(schema, "name");
    Py_XDECREF(schema);
    if (name == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        name = PyObject_CallMethod(function, "name", NULL);
    }
    return name;
}

static int8_t
range_effect(const char *name)
{
    if (strncmp(name, "profiler::_record_function_enter", 32) == 0) {
        return 1;
    }
    return strncmp(name, "profiler::_record_function_exit", 31) == 0 ? -1 : 0;
}

/* Return a new description of an operator, or NULL with an exception. Runs
 * Python code. */
static fd_dispatched *
dispatched_new(PyObject *function)
{
    fd_dispatched *known = fd_calloc(1, sizeof *known);
    if (known == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    known->function = Py_NewRef(function);
    known->name = name_of(function);
    const char *text =
        known->name == NULL ? NULL : PyUnicode_AsUTF8(known->name);
    if (text != NULL) {
        known->range = range_effect(text);
        known->call = PyObject_GetAttrString(function, "_op");
        if (known->call == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear();
            known->call = Py_NewRef(function);
        }
    }
    if (known->call == NULL) {
        dispatched_free(known);
        return NULL;
    }
    return known;
}

static fd_dispatched *
known_operator(const fd_dispatch *dispatch, PyObject *function)
{
    uint32_t at = fd_map_get(&dispatch->by_address, (uintptr_t)function);
    return at != 0 ? dispatch->list.list[at - 1] : NULL;
}

/* Store a description, and return it or the one that another thread stored
 * meanwhile. Return NULL if there is no memory. */
static fd_dispatched *
operator_store(fd_dispatch *dispatch, fd_dispatched *met)
{
    fd_dispatched *known = known_operator(dispatch, met->function);
    if (known == NULL && fd_vector_reserve(&dispatch->list, 1) == FD_OK
        && fd_map_put(&dispatch->by_address, (uintptr_t)met->function,
                      dispatch->list.count + 1)
               == FD_OK) {
        dispatch->list.list[dispatch->list.count++] = met;
        return met;
    }
    dispatched_free(met);
    return known;
}

/* Add an operator. Return NULL if it cannot be described or there is no
 * memory: the caller then runs it unrecorded. Clears the exception if it is an
 * Exception and keeps others, such as KeyboardInterrupt. */
static fd_dispatched *
operator_add(fd_dispatch *dispatch, PyObject *function)
{
    fd_dispatched *met = dispatched_new(function);
    if (met != NULL) {
        return operator_store(dispatch, met);
    }
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
    }
    return NULL;
}

static fd_dispatched *
operator_look_up(fd_dispatch *dispatch, PyObject *function)
{
    fd_dispatched *known = known_operator(dispatch, function);
    return known != NULL ? known : operator_add(dispatch, function);
}

static PyObject *
run_call(PyObject *call, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call(call, args, kwargs == Py_None ? NULL : kwargs);
}

static uint32_t
node_of(fd_dispatched *known, fd_thread *thread)
{
    fd_session *session = thread->session;
    if (known->serial != session->serial || known->node == 0) {
        known->serial = session->serial;
        known->node = fd_operators_add(&session->operators, session->recording,
                                       (uintptr_t)known->function,
                                       PyUnicode_AsUTF8(known->name));
    }
    return known->node;
}

/* Store the origin of an autograd node, which was created before this call: if
 * the counter has changed since the last operator, the number before it
 * belongs to this operator. */
static void
note_number(fd_dispatch *dispatch, fd_thread *thread)
{
    if (fd_torch.next_number == NULL) {
        return;
    }
    uint64_t next = fd_torch.next_number();
    if (next != dispatch->number && next > 0) {
        fd_node_number(thread, next - 1, fd_torch.current_thread());
    }
    dispatch->number = next;
}

/* Return whether the current context is the function that started autograd, or
 * the root of an autograd thread. Below other contexts, an operator does not
 * belong to the running node. */
static bool
directly_in_engine(const fd_thread *thread)
{
    const fd_tree *tree = thread->tree;
    const fd_file *file = &tree->recording->file;
    const fd_node *node = fd_file_record(file, tree->current->node);
    if (node->kind == FD_NODE_C) {
        const fd_context *caller =
            fd_tree_context(tree, tree->current->parent);
        node = fd_file_record(file, caller->node);
    }
    return node->kind == FD_NODE_THREAD
        || (node->kind == FD_NODE_PYTHON
            && (node->flags & FD_NODE_PHASE) == FD_PHASE_BACKWARD);
}

static uint64_t
number_of(PyObject *node)
{
    PyObject *object = PyObject_CallMethod(node, "_sequence_nr", NULL);
    uint64_t number =
        object == NULL ? UINT64_MAX : PyLong_AsUnsignedLongLongMask(object);
    Py_XDECREF(object);
    PyErr_Clear();
    return number;
}

static uint32_t
origin_of(const fd_thread *thread, uint64_t number, const char *name)
{
    const fd_session *session = thread->session;
    const fd_file *file = &session->recording->file;
    if (number == UINT64_MAX || strstr(name, "AccumulateGrad") != NULL) {
        fd_file_count(file, FD_COUNT_ACCUMULATE);
        return 0;
    }
    return fd_origins_find(&session->origins, file, session->origins.first,
                           number, name)
        .context;
}

/* Return the context of an autograd node. Consecutive operators of the same
 * node are one call of it. */
static fd_context *
autograd_context(fd_dispatch *dispatch, fd_thread *thread,
                 const PyObject *node, uint64_t number, const char *name)
{
    uint32_t id = fd_texts_node(thread, FD_NODE_AUTOGRAD, name);
    fd_context *context =
        fd_node_enter(thread->tree, id, origin_of(thread, number, name));
    bool same = dispatch->autograd_number == number
             && dispatch->autograd_address == (uintptr_t)node;
    context->calls -= same;
    dispatch->autograd_number = number;
    dispatch->autograd_address = (uintptr_t)node;
    return context;
}

/* Enter the context of the running autograd node, if any, for the next
 * operator. */
static void
enter_autograd(fd_dispatch *dispatch, fd_thread *thread, const void *owner)
{
    if (!directly_in_engine(thread)) {
        return;
    }
    uint32_t generation = thread->synced;
    fd_guard guard = fd_guard_enter_open(thread);
    PyObject *node = PyObject_CallNoArgs(dispatch->autograd_node);
    PyObject *name = node == NULL || node == Py_None
                       ? NULL
                       : PyObject_CallMethod(node, "name", NULL);
    const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
    uint64_t number = text == NULL ? 0 : number_of(node);
    PyErr_Clear();
    fd_guard_leave(&guard);
    if (text != NULL && fd_process_generation() == generation) {
        fd_node_push(thread->tree,
                     autograd_context(dispatch, thread, node, number, text),
                     owner, FD_ENTRY_OP);
    }
    Py_XDECREF(name);
    Py_XDECREF(node);
}

static void
begin_range(fd_thread *thread, PyObject *args, bool timed)
{
    PyObject *name = fd_utf8_text_of(
        PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL);
    if (name != NULL) {
        fd_range_start(thread, PyUnicode_AsUTF8(name), NULL, timed);
    }
    Py_XDECREF(name);
}

/* End the topmost range: ranges of one thread end in reverse order. */
static void
end_range(fd_thread *thread, bool timed)
{
    int64_t at = fd_stack_find(thread->tree, NULL, FD_ENTRY_RANGE);
    if (at >= 0) {
        fd_range_end(thread, (uint32_t)at, timed);
    }
}

/* Return a unique owner for the entries of one call: an odd number, unlike
 * addresses. */
static const void *
new_owner(void)
{
    return (const void *)(uintptr_t)(2 * ++fd_process.dispatched + 1);
}

/* Close the entries of a call and all above them, unless a switch of greenlets
 * has removed them: see docs/decisions/README.md. */
static void
leave_call(fd_thread *thread, uint32_t generation, const void *owner,
           bool timed)
{
    if (fd_process_generation() != generation) {
        return;
    }
    fd_tree *tree = thread->tree;
    int64_t at = fd_stack_find(tree, owner, FD_ENTRY_OP);
    fd_thread_tick(thread, timed);
    if (at > 0 && tree->stack[at - 1].owner == (uintptr_t)owner) {
        at--; /* the entry of the autograd node */
    }
    if (at >= 0) {
        fd_stack_close(tree, (uint32_t)at);
    }
}

static PyObject *
record_call(fd_dispatch *dispatch, fd_dispatched *known, fd_thread *thread,
            PyObject *args, PyObject *kwargs)
{
    bool timed = thread->session->timed;
    uint32_t generation = thread->synced;
    int8_t range = known->range;
    PyObject *call = known->call;
    fd_tree *tree = thread->tree;
    const void *owner = new_owner();
    uint32_t node = node_of(known, thread);
    fd_thread_tick(thread, timed);
    enter_autograd(dispatch, thread, owner);
    if (fd_process_generation() != generation) {
        return run_call(call, args, kwargs);
    }
    fd_node_push(tree, fd_node_enter(tree, node, 0), owner, FD_ENTRY_OP);
    note_number(dispatch, thread);
    PyObject *result = run_call(call, args, kwargs);
    leave_call(thread, generation, owner, timed);
    if (range != 0 && fd_process_generation() == generation) {
        if (range > 0 && result != NULL) {
            begin_range(thread, args, timed);
        }
        else if (range < 0) {
            end_range(thread, timed);
        }
    }
    return result;
}

/* Run an operator that could not be added. */
static PyObject *
run_unknown(PyObject *function, PyObject *args, PyObject *kwargs)
{
    const fd_session *session = fd_process_active();
    if (PyErr_Occurred()) {
        return NULL; /* an exception such as KeyboardInterrupt */
    }
    if (session != NULL && session->running) {
        fd_file_count(&session->recording->file, FD_COUNT_NODES_FULL);
    }
    return run_call(function, args, kwargs);
}

PyObject *
fd_dispatch_call(fd_dispatch *dispatch, PyObject *function, PyObject *args,
                 PyObject *kwargs)
{
    fd_dispatched *known = operator_look_up(dispatch, function);
    if (known == NULL) {
        return run_unknown(function, args, kwargs);
    }
    known->calls++;
    const fd_session *session = fd_process_active();
    fd_thread *thread = session != NULL && session->ops != FD_OPS_RECORD
                          ? fd_calls_ready()
                          : NULL;
    return thread == NULL ? run_call(known->call, args, kwargs)
                          : record_call(dispatch, known, thread, args, kwargs);
}
