#include "capture/hooks/collection_hook.h"

#include "capture/frames/python_calls.h"
#include "capture/operators/node_calls.h"
#include "capture/process/guard.h"

#include <string.h>

static const char *const names[FD_GENERATIONS] = {"gc:gen0", "gc:gen1",
                                                  "gc:gen2"};

/* Owned: the callback, and the list that contains it. */
static PyObject *function;
static PyObject *callbacks;

/* Whether a collection has started and not ended. */
static bool collecting;

/* The owner of the entries; collections are not nested. */
static const char owner;

static long
number_of(PyObject *info, const char *key)
{
    PyObject *value = PyDict_GetItemString(info, key); /* borrowed */
    long number =
        value != NULL && PyLong_Check(value) ? PyLong_AsLong(value) : -1;
    PyErr_Clear();
    return number;
}

/* Open an entry, even inside imports, whose calls are folded. The prediction
 * of the next call does not change. */
static void
begin_collection(const fd_session *session, long generation)
{
    fd_thread *thread = fd_calls_ready();
    if (thread == NULL) {
        return;
    }
    fd_tree *tree = thread->tree;
    fd_callee callee = {
        fd_texts_node(thread, FD_NODE_RANGE, names[generation]), 0, 0};
    fd_thread_tick(thread, session->timed);
    fd_context *context = fd_tree_unfolded(tree, tree->current, &callee);
    context->calls++;
    fd_node_push(tree, context, &owner, FD_ENTRY_OP);
}

static void
end_collection(const fd_session *session)
{
    fd_thread *thread = fd_calls_ready();
    if (thread == NULL) {
        return;
    }
    int64_t at = fd_stack_find(thread->tree, &owner, FD_ENTRY_OP);
    if (at >= 0) {
        fd_thread_tick(thread, session->timed);
        fd_stack_close(thread->tree, (uint32_t)at);
    }
}

static void
count_collection(PyObject *info, long generation)
{
    fd_collections *counts = &fd_process.collections;
    long collected = number_of(info, "collected");
    long uncollectable = number_of(info, "uncollectable");
    counts->runs[generation]++;
    counts->collected[generation] += collected > 0 ? (uint64_t)collected : 0;
    counts->uncollectable[generation] +=
        uncollectable > 0 ? (uint64_t)uncollectable : 0;
}

static void
handle_phase(const fd_session *session, const char *phase, PyObject *info)
{
    long generation = number_of(info, "generation");
    if (generation < 0 || generation >= FD_GENERATIONS) {
        return;
    }
    if (strcmp(phase, "start") == 0) {
        begin_collection(session, generation);
    }
    else {
        end_collection(session);
        count_collection(info, generation);
    }
}

/* callback(phase, info), called by the collector. Never raises. */
static PyObject *
callback_called(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)self;
    const fd_session *session = fd_process_active();
    const char *phase = nargs == 2 && PyUnicode_Check(args[0])
                          ? PyUnicode_AsUTF8(args[0])
                          : NULL;
    if (phase == NULL || !PyDict_Check(args[1])) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    int error = errno;
    collecting = strcmp(phase, "start") == 0;
    if (session != NULL && session->running
        && fd_process.collections.serial == session->serial) {
        handle_phase(session, phase, args[1]);
    }
    errno = error;
    Py_RETURN_NONE;
}

static PyMethodDef definition = {
    "collection", (PyCFunction)(void (*)(void))callback_called, METH_FASTCALL,
    PyDoc_STR("Record a garbage collection: in gc.callbacks.")};

int
fd_collections_init(void)
{
    if (function == NULL) {
        function = PyCFunction_New(&definition, NULL);
    }
    return function == NULL ? -1 : 0;
}

/* Return the index of the callback in the list, or -1. Compares identities,
 * because == would run code of the program. */
static Py_ssize_t
callback_place(PyObject *list)
{
    Py_ssize_t at = list == NULL ? -1 : PyList_GET_SIZE(list) - 1;
    while (at >= 0 && PyList_GET_ITEM(list, at) != function) {
        at--;
    }
    return at;
}

/* Return gc.callbacks, or NULL if it is not a list. */
static PyObject *
find_list(void)
{
    PyObject *module = PyImport_ImportModule("gc");
    PyObject *list =
        module == NULL ? NULL : PyObject_GetAttrString(module, "callbacks");
    Py_XDECREF(module);
    if (list != NULL && !PyList_Check(list)) {
        Py_CLEAR(list);
    }
    return list;
}

void
fd_collections_watch(const fd_session *session)
{
    fd_thread *thread = fd_thread_get();
    if (thread == NULL || function == NULL) {
        return;
    }
    if (fd_process.collections.serial != session->serial) {
        fd_process.collections = (fd_collections){.serial = session->serial};
    }
    fd_guard guard = fd_guard_enter(thread);
    PyObject *list = find_list();
    if (list != NULL && callback_place(list) < 0) {
        PyList_Append(list, function);
    }
    Py_XSETREF(callbacks, list);
    collecting = false;
    PyErr_Clear();
    fd_guard_leave(&guard);
}

void
fd_collections_ignore(void)
{
    fd_thread *thread = fd_thread_get();
    Py_ssize_t at = collecting ? -1 : callback_place(callbacks);
    if (thread != NULL && at >= 0) {
        fd_guard guard = fd_guard_enter(thread);
        PyList_SetSlice(callbacks, at, at + 1, NULL);
        PyErr_Clear();
        fd_guard_leave(&guard);
    }
}

PyObject *
fd_collections_counts(const fd_session *session)
{
    fd_collections counts = fd_process.collections;
    PyObject *list = PyList_New(FD_GENERATIONS);
    if (counts.serial != session->serial) {
        counts = (fd_collections){.serial = 0};
    }
    for (int i = 0; list != NULL && i < FD_GENERATIONS; i++) {
        PyObject *row =
            Py_BuildValue("KKK", (unsigned long long)counts.runs[i],
                          (unsigned long long)counts.collected[i],
                          (unsigned long long)counts.uncollectable[i]);
        if (row == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, i, row);
    }
    return list;
}
