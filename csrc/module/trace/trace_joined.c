/* Trace.joined() and .renamed(): traces for comparisons. */
#include "module/errors.h"
#include "module/trace/trace_type.h"

#include "base/alloc.h"
#include "module/field_tables.h"
#include "profile/diff_joined.h"
#include "profile/totals.h"
#include "trace/trace_merge.h"

PyObject *
fd_trace_renamed(PyObject *self, PyObject *args)
{
    const char *file;
    const char *to;
    if (!PyArg_ParseTuple(args, "ss:renamed", &file, &to)) {
        return NULL;
    }
    fd_trace *made;
    const fd_trace *trace = fd_trace_of(self);
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_merge_renamed(&made, trace, file, to);
    Py_END_ALLOW_THREADS
    return status == FD_OK ? fd_trace_object(fd_module_of(self), made)
                           : PyErr_NoMemory();
}

/* Convert the pair of ranks to compare; by default, all ranks of both
 * traces. */
static bool
take_pair(PyObject *before, PyObject *after, PyObject *pair,
          fd_diff_side sides[2])
{
    sides[0].trace = fd_trace_of(before);
    sides[1].trace = fd_trace_of(after);
    return PyArg_Parse(pair, "(ii)", &sides[0].rank, &sides[1].rank)
        && fd_trace_rank_fits(before, sides[0].rank)
        && fd_trace_rank_fits(after, sides[1].rank);
}

PyObject *
fd_trace_joined(PyObject *self, PyObject *args)
{
    PyObject *after;
    PyObject *pairs;
    if (!PyArg_ParseTuple(args, "O!O!:joined", Py_TYPE(self), &after,
                          &PyList_Type, &pairs)) {
        return NULL;
    }
    uint32_t count = (uint32_t)PyList_GET_SIZE(pairs);
    if (count == 0) {
        PyErr_SetString(fd_value_error(), "joined: no ranks");
        return NULL;
    }
    fd_diff_side *sides = fd_calloc(2 * (size_t)count, sizeof *sides);
    if (sides == NULL) {
        return PyErr_NoMemory();
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!take_pair(self, after, PyList_GET_ITEM(pairs, i),
                       &sides[2 * (size_t)i])) {
            fd_free(sides);
            return NULL;
        }
    }
    fd_trace *joined;
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_diff_joined(&joined, sides, 2 * count);
    Py_END_ALLOW_THREADS
    fd_free(sides);
    return status == FD_OK ? fd_trace_object(fd_module_of(self), joined)
                           : PyErr_NoMemory();
}
