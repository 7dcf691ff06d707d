#include "capture/frames/code_nodes.h"

#include "base/alloc.h"
#include "capture/python/monitoring.h"
#include "capture/rules/job_rules.h"
#include "capture/rules/name_rules.h"

#include <string.h>

/* Free the facts of a code object. CPython passes NULL for code that only has
 * words of other tools. */
static void
forget_code(void *extra)
{
    fd_code *known = extra;
    if (known == NULL) {
        return;
    }
    if (known->next != NULL) {
        known->next->link = known->link;
    }
    *known->link = known->next;
    fd_job_site_free(known->jobs);
    fd_free(known);
}

/* Return whether direct access to the word of a code object agrees with
 * CPython's functions. */
static bool
extras_agree(PyCodeObject *code, Py_ssize_t index)
{
    fd_code known = {.link = NULL};
    void *found = NULL;
    bool agree = fd_frame_code_extra(code, index) == NULL
              && fd_frame_set_code_extra(code, index, &known) == 0
              && fd_code_get_extra((PyObject *)code, index, &found) == 0
              && found == &known && fd_frame_code_extra(code, index) == found;
    fd_frame_set_code_extra(code, index, NULL);
    return agree;
}

int
fd_code_init(void)
{
    Py_ssize_t index = fd_code_request_index(forget_code);
    if (index < 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "no free code-extra slot in this interpreter: "
                        "other tools use all of them");
        return -1;
    }
    PyCodeObject *code = PyCode_NewEmpty("", "", 1);
    if (code == NULL) {
        return -1;
    }
    bool agree = extras_agree(code, index);
    Py_DECREF(code);
    if (!agree) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the layout of code objects differs from the "
                        "interpreter that fastdispatch was built for");
        return -1;
    }
    fd_process.code_index = index;
    return 0;
}

static int
parameter_count(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount
         + ((code->co_flags & CO_VARARGS) != 0)
         + ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/* Return the index of `name` among the local slots [from, to), or -1. */
static int
find_slot(const PyCodeObject *code, const char *name, int from, int to)
{
    for (int i = from; i < to; i++) {
        PyObject *slot = PyTuple_GET_ITEM(code->co_localsplusnames, i);
        if (PyUnicode_CompareWithASCIIString(slot, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Get the class in the qualified name of the function: "B" of "A.B.f". */
static bool
own_class(const PyCodeObject *code, const char **name, size_t *size)
{
    const char *qualified = PyUnicode_AsUTF8(code->co_qualname);
    if (qualified == NULL) {
        PyErr_Clear();
        return false;
    }
    const char *end = strrchr(qualified, '.');
    if (end == NULL || end == qualified || end[-1] == '>') {
        return false;
    }
    const char *begin = end;
    while (begin > qualified && begin[-1] != '.') {
        begin--;
    }
    *name = begin;
    *size = (size_t)(end - begin);
    return true;
}

static void
find_receiver(const PyCodeObject *code, fd_code *known)
{
    static const struct {
        const char *name;
        bool free;
        uint8_t receiver;
    } places[] = {
        {"self", false, FD_RECEIVER_LOCAL},
        {"self", true, FD_RECEIVER_FREE},
        {"cls", false, FD_RECEIVER_CLASS},
        {"cls", true, FD_RECEIVER_FREE_CLASS},
    };
    int count = code->co_nlocalsplus;
    int first_free = count - code->co_nfreevars;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int slot =
            places[i].free
                ? find_slot(code, places[i].name, first_free, count)
                : find_slot(code, places[i].name, 0, parameter_count(code));
        if (slot >= 0) {
            known->receiver = places[i].receiver;
            known->slot = places[i].free ? slot - first_free : slot;
            return;
        }
    }
    const char *name;
    size_t size;
    if (code->co_argcount > 0 && own_class(code, &name, &size)) {
        known->receiver = FD_RECEIVER_FIRST;
        known->slot = 0;
    }
}

static bool
is_named(const PyCodeObject *code, const char *name)
{
    return PyUnicode_CompareWithASCIIString(code->co_name, name) == 0;
}

static void
classify_code(const PyCodeObject *code, fd_code *known)
{
    enum { RESUMABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR };
    find_receiver(code, known);
    if ((code->co_flags & RESUMABLE) != 0) {
        known->special |= FD_CODE_GENERATOR;
        if (known->receiver == FD_RECEIVER_LOCAL) {
            known->receiver = FD_RECEIVER_CELL;
        }
    }
    if (known->receiver > FD_RECEIVER_LOCAL) {
        known->special |= FD_CODE_RECEIVER;
    }
    if (known->slot >= 0 && is_named(code, "forward")) {
        known->special |= FD_CODE_FORWARD;
    }
    if (is_named(code, "<module>")) {
        known->special |= FD_CODE_BODY;
    }
    if (is_named(code, "__enter__") || is_named(code, "__aenter__")) {
        known->special |= FD_CODE_ENTERS;
    }
    known->special |= fd_rules_code(code, &known->node);
}

/* The events that constructors report to a tool of sys.monitoring; 0: none. */
static int constructor_tool = -1;
static long constructor_events;

/* A constructor is a simple __init__ that meets the conditions of CPython's
 * specializer. */
bool
fd_constructor_is(const PyCodeObject *code)
{
    enum { KINDS = CO_VARARGS | CO_VARKEYWORDS | CO_OPTIMIZED };
    return FD_HAS_HIDDEN_CONSTRUCTORS
        && (code->co_flags & KINDS) == CO_OPTIMIZED
        && code->co_kwonlyargcount == 0 && is_named(code, "__init__");
}

/* Enable the events of a code object. If there is no memory, its calls are not
 * reported, and are inferred from their callees. */
static void
report_constructor(PyCodeObject *code)
{
    if (fd_monitoring_set_local(constructor_tool, code, constructor_events)
        < 0) {
        PyErr_Clear();
    }
}

void
fd_constructors_report(int tool, long events)
{
    constructor_tool = tool;
    constructor_events = events;
    for (const fd_code *at = fd_process.known; at != NULL; at = at->next) {
        if (at->constructor) {
            report_constructor(at->code);
        }
    }
}

static void
look_for_jobs(fd_code *known)
{
    fd_job_site_free(known->jobs);
    known->jobs = fd_job_site_of(known->code);
    known->special &= (uint16_t)~FD_CODE_JOB;
    known->special |= known->jobs != NULL ? FD_CODE_JOB : 0;
}

void
fd_code_refresh(void)
{
    for (fd_code *at = fd_process.known; at != NULL; at = at->next) {
        look_for_jobs(at);
    }
}

bool
fd_code_set_step(const char *function)
{
    char *copy = NULL;
    if (function == NULL && fd_process.step_function == NULL) {
        return true;
    }
    if (function != NULL) {
        copy = fd_malloc(strlen(function) + 1);
        if (copy == NULL) {
            return false;
        }
        strcpy(copy, function);
    }
    fd_free(fd_process.step_function);
    fd_process.step_function = copy;
    for (fd_code *at = fd_process.known; at != NULL; at = at->next) {
        at->special &= (uint16_t)~FD_CODE_STEP;
        at->special |= fd_rules_code(at->code, &at->node) & FD_CODE_STEP;
    }
    return true;
}

const fd_code *
fd_code_add(PyCodeObject *code)
{
    fd_code *known = fd_calloc(1, sizeof *known);
    if (known == NULL) {
        return NULL;
    }
    known->id = ++fd_process.codes;
    known->slot = -1;
    known->code = code;
    classify_code(code, known);
    look_for_jobs(known);
    if (fd_frame_set_code_extra(code, fd_process.code_index, known) != 0) {
        fd_job_site_free(known->jobs);
        fd_free(known);
        return NULL;
    }
    known->next = fd_process.known;
    known->link = &fd_process.known;
    if (known->next != NULL) {
        known->next->link = &known->next;
    }
    fd_process.known = known;
    known->constructor = fd_constructor_is(code);
    if (known->constructor && constructor_events != 0) {
        report_constructor(code);
    }
    return known;
}

PyObject *
fd_receiver_value(const fd_code *known, const fd_frame *frame)
{
    switch (known->receiver) {
    case FD_RECEIVER_LOCAL:
    case FD_RECEIVER_CELL:
    case FD_RECEIVER_CLASS:
    case FD_RECEIVER_FIRST:
        return fd_unboxed(fd_frame_local(frame, known->slot));
    case FD_RECEIVER_FREE:
    case FD_RECEIVER_FREE_CLASS: {
        PyObject *closure = fd_frame_function(frame)->func_closure;
        return closure == NULL
                 ? NULL
                 : fd_unboxed(PyTuple_GET_ITEM(closure, known->slot));
    }
    default:
        return NULL;
    }
}

PyTypeObject *
fd_receiver_type(const fd_code *known, const fd_frame *frame)
{
    PyObject *value = fd_receiver_value(known, frame);
    if (value == NULL) {
        return NULL;
    }
    if (fd_receiver_is_instance(known)) {
        return Py_TYPE(value);
    }
    return PyType_Check(value) ? (PyTypeObject *)value : NULL;
}

bool
fd_receiver_counts(const fd_code *known, const PyCodeObject *code,
                   const PyTypeObject *type)
{
    const char *name;
    size_t size;
    if (known->receiver != FD_RECEIVER_FIRST) {
        return true;
    }
    if (!own_class(code, &name, &size) || type->tp_mro == NULL) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
        const char *base = fd_class_name(
            (const PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i));
        if (strlen(base) == size && memcmp(base, name, size) == 0) {
            return true;
        }
    }
    return false;
}
