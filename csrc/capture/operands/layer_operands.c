#include "capture/operands/layer_operands.h"

#include "capture/operands/operands.h"
#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"
#include "recording/operator_log.h"

#include <string.h>

enum { DEEPEST = 6, MOST_ITEMS = 4096, IS_CUT = 1 << 8, IS_TUPLE = 2 << 8 };

/* Arguments and results of a Python function, as operands
 * (recording/operator_log.h): tensors, numbers, texts, and lists and dicts of
 * them. They are read from memory, without running code of the program. */

/* Append a value. Return false if it was truncated. */
static bool put_value(fd_thread *thread, PyObject *value, int depth);

static bool
put_integer(fd_op_log *log, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow != 0
             ? fd_operands_number(log, FD_OPERAND_OTHER, 0, 0)
             : fd_operands_number(log, FD_OPERAND_INT, 0, (uint64_t)number);
}

static bool
put_real(fd_op_log *log, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return fd_operands_number(log, FD_OPERAND_DOUBLE, 0, bits);
}

static bool
put_text(fd_op_log *log, PyObject *value)
{
    PyObject *text = fd_utf8_text_of(value);
    if (text == NULL) {
        return fd_operands_number(log, FD_OPERAND_OTHER, 0, 0);
    }
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    bool put = fd_operands_text(log, bytes, (size_t)size);
    Py_DECREF(text);
    return put;
}

/* Append the items of a list or tuple. */
static bool
put_row(fd_thread *thread, PyObject *row, Py_ssize_t first, int depth)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(row);
    bool whole = count - first <= MOST_ITEMS;
    count = whole ? count : first + MOST_ITEMS;
    uint32_t flags =
        (whole ? 0 : IS_CUT) | (PyTuple_Check(row) ? IS_TUPLE : 0);
    if (!fd_operands_head(&thread->tree->ops, FD_OPERAND_LIST | flags,
                          (uint64_t)(count - first))) {
        return false;
    }
    for (Py_ssize_t i = first; i < count; i++) {
        whole = put_value(thread, PySequence_Fast_GET_ITEM(row, i), depth + 1)
             && whole;
    }
    return whole;
}

static bool
put_items(fd_thread *thread, PyObject *dict, int depth)
{
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *value;
    bool whole = true;
    while (PyDict_Next(dict, &at, &key, &value)) {
        whole = put_value(thread, key, DEEPEST)
             && put_value(thread, value, depth + 1) && whole;
    }
    return whole;
}

static bool
put_value(fd_thread *thread, PyObject *value, int depth)
{
    fd_op_log *log = &thread->tree->ops;
    if (value == Py_None) {
        return fd_operands_head(log, FD_OPERAND_NONE, 0);
    }
    if (PyObject_TypeCheck(value, (PyTypeObject *)thread->session->tensor)) {
        return fd_operands_object(log, value);
    }
    if (PyBool_Check(value)) {
        return fd_operands_head(log, FD_OPERAND_BOOL, value == Py_True);
    }
    if (PyLong_CheckExact(value)) {
        return put_integer(log, value);
    }
    if (PyFloat_CheckExact(value)) {
        return put_real(log, PyFloat_AS_DOUBLE(value));
    }
    if (PyUnicode_CheckExact(value)) {
        return put_text(log, value);
    }
    if (depth < DEEPEST && (PyTuple_Check(value) || PyList_Check(value))) {
        return put_row(thread, value, 0, depth);
    }
    if (depth < DEEPEST && PyDict_Check(value)
        && PyDict_GET_SIZE(value) <= MOST_ITEMS / 2) {
        return fd_operands_head(log, FD_OPERAND_DICT,
                                2 * (uint64_t)PyDict_GET_SIZE(value))
            && put_items(thread, value, depth);
    }
    return fd_operands_number(log, FD_OPERAND_OTHER, 0, 0);
}

/* The parameters of a function and their values in a frame. */
typedef struct parameters {
    const PyCodeObject *code;
    const fd_frame *frame; /* its locals are ordered as in the code */
    PyObject *defaults;    /* borrowed tuple of positional defaults, or NULL */
    PyObject *named_defaults; /* borrowed dict, or NULL */
    PyObject *rest;           /* borrowed tuple *args, or NULL */
    PyObject *named;          /* borrowed dict **kwargs, or NULL */
} parameters;

static parameters
parameters_of(const fd_frame *frame)
{
    const PyFunctionObject *function = fd_frame_function(frame);
    const PyCodeObject *code = fd_frame_code(frame);
    parameters p = {
        code, frame, function->func_defaults, function->func_kwdefaults,
        NULL, NULL};
    int at = code->co_argcount + code->co_kwonlyargcount;
    if ((code->co_flags & CO_VARARGS) != 0) {
        p.rest = fd_unboxed(fd_frame_local(frame, at++));
    }
    if ((code->co_flags & CO_VARKEYWORDS) != 0) {
        p.named = fd_unboxed(fd_frame_local(frame, at));
    }
    return p;
}

/* Return whether a positional argument is the default of its parameter. */
static bool
is_default(const parameters *p, int at)
{
    Py_ssize_t count = p->defaults != NULL ? PyTuple_GET_SIZE(p->defaults) : 0;
    Py_ssize_t index = at - (p->code->co_argcount - count);
    return index >= 0 && index < count
        && PyTuple_GET_ITEM(p->defaults, index)
               == fd_unboxed(fd_frame_local(p->frame, at));
}

static bool
put_unboxed(fd_thread *thread, PyObject *value)
{
    value = fd_unboxed(value);
    return put_value(thread, value != NULL ? value : Py_None, 1);
}

static bool
put_by_position(fd_thread *thread, const parameters *p)
{
    int count = p->code->co_argcount;
    /* In `def forward(*args)`, args[0] is the receiver. */
    Py_ssize_t skipped = count == 0;
    Py_ssize_t rest =
        p->rest != NULL ? PyTuple_GET_SIZE(p->rest) - skipped : 0;
    while (rest <= 0 && count > 1 && is_default(p, count - 1)) {
        count--;
    }
    uint64_t given = (uint64_t)(count > 1 ? count - 1 : 0)
                   + (uint64_t)(rest > 0 ? rest : 0);
    bool whole = fd_operands_head(&thread->tree->ops, FD_OPERAND_LIST, given);
    for (int i = 1; i < count; i++) {
        whole = put_unboxed(thread, fd_frame_local(p->frame, i)) && whole;
    }
    for (Py_ssize_t i = 0; i < rest; i++) {
        whole = put_value(thread, PyTuple_GET_ITEM(p->rest, i + skipped), 1)
             && whole;
    }
    return whole;
}

/* Return whether a keyword argument is the default of its parameter; set
 * `name`, borrowed. */
static bool
is_named_default(const parameters *p, int at, PyObject **name)
{
    *name = PyTuple_GET_ITEM(p->code->co_localsplusnames, at);
    PyObject *value = p->named_defaults != NULL
                        ? PyDict_GetItemWithError(p->named_defaults, *name)
                        : NULL;
    PyErr_Clear();
    return value != NULL && value == fd_unboxed(fd_frame_local(p->frame, at));
}

static bool
put_by_name(fd_thread *thread, const parameters *p)
{
    int first = p->code->co_argcount;
    int end = first + p->code->co_kwonlyargcount;
    uint64_t count =
        p->named != NULL ? (uint64_t)PyDict_GET_SIZE(p->named) : 0;
    PyObject *name;
    for (int i = first; i < end; i++) {
        count += !is_named_default(p, i, &name);
    }
    bool whole =
        fd_operands_head(&thread->tree->ops, FD_OPERAND_DICT, 2 * count);
    for (int i = first; i < end; i++) {
        if (!is_named_default(p, i, &name)) {
            whole = put_value(thread, name, DEEPEST)
                 && put_unboxed(thread, fd_frame_local(p->frame, i)) && whole;
        }
    }
    return p->named != NULL ? put_items(thread, p->named, 0) && whole : whole;
}

/* Append the arguments of the call that `frame` is about to run: a list of
 * positional arguments and a dict of keyword arguments, without the receiver
 * and without defaults. Return false if some were truncated. */
static bool
put_arguments(fd_thread *thread, const fd_frame *frame)
{
    parameters p = parameters_of(frame);
    bool whole = put_by_position(thread, &p);
    return put_by_name(thread, &p) && whole;
}

/* Return the module of this forward, borrowed, or NULL. */
static PyObject *
module_of(fd_thread *thread, const fd_code *known, const fd_frame *frame)
{
    PyTypeObject *type =
        fd_receiver_is_instance(known) ? fd_receiver_type(known, frame) : NULL;
    if (type == NULL || (known->special & FD_CODE_GENERATOR) != 0) {
        return NULL;
    }
    fd_guard guard = fd_guard_enter(thread);
    uint32_t id = fd_objects_add_class(&fd_process.classes, type);
    fd_guard_leave(&guard);
    return fd_objects_at(&fd_process.classes, id)->value != 0
             ? fd_receiver_value(known, frame)
             : NULL;
}

static bool
is_enclosed(const fd_op_log *log, uint32_t window)
{
    for (uint32_t i = log->open.count; log->window == window && i > 0; i--) {
        const fd_op_call *call = log->open.list[i - 1].call;
        if (call != NULL && (call->flags & FD_OP_CALL_MODULE) != 0) {
            return true;
        }
    }
    return false;
}

/* Call on_model once per module that is called outside of other modules. */
static void
report_model(fd_thread *thread, PyObject *module)
{
    fd_session *session = thread->session;
    uintptr_t address = (uintptr_t)module;
    if (session->on_model == NULL || fd_map_get(&session->models, address) != 0
        || is_enclosed(&thread->tree->ops, thread->synced)
        || fd_map_put(&session->models, address, 1) != FD_OK) {
        return;
    }
    Py_XDECREF(fd_session_call(session, thread, session->on_model, module));
}

static void
count_cut(const fd_thread *thread)
{
    fd_file_count(&thread->tree->recording->file, FD_COUNT_OPERANDS_CUT);
}

bool
fd_layer_call_start(fd_thread *thread, const fd_code *known,
                    const fd_frame *frame)
{
    fd_tree *tree = thread->tree;
    PyObject *module = module_of(thread, known, frame);
    if (module == NULL || thread->session->tensor == NULL) {
        return false;
    }
    report_model(thread, module);
    if (fd_process_generation() != thread->synced) {
        return false;
    }
    const char *name = fd_class_name(Py_TYPE(module));
    tree->ops.words.count = 0;
    fd_guard guard = fd_guard_enter(thread);
    if (!fd_operands_text(&tree->ops, name, strlen(name))
        || !put_arguments(thread, frame)) {
        count_cut(thread);
    }
    fd_guard_leave(&guard);
    fd_op_call call = {
        .start = fd_clock_ticks(),
        .id = (uintptr_t)module,
        .sequence = -1,
        .step = (uint32_t)thread->session->step,
        .flags = FD_OP_CALL_MODULE,
    };
    fd_op_calls_begin(tree, &call, frame, thread->synced);
    return true;
}

void
fd_layer_call_end(fd_thread *thread, const fd_frame *frame, PyObject *result)
{
    fd_tree *tree = thread->tree;
    uint64_t now = fd_clock_ticks();
    tree->ops.words.count = 0;
    if (tree->ops.window != thread->synced) {
        return;
    }
    fd_guard guard = fd_guard_enter(thread);
    if (result != NULL && !put_value(thread, result, 0)) {
        count_cut(thread);
    }
    fd_guard_leave(&guard);
    fd_op_calls_end(tree, frame, now);
}
