#include "module/events/clock_binding.h"

#include "base/alloc.h"
#include "module/errors.h"

#include <stdio.h>

bool
fd_take_clock(PyObject *row, fd_rank_clock *clock)
{
    const char *method;
    long long map[4];
    PyObject *residual;
    unsigned long long violations;
    if (!PyArg_Parse(row, "(sLLLLOK)", &method, &map[0], &map[1], &map[2],
                     &map[3], &residual, &violations)) {
        return false;
    }
    snprintf(clock->method, sizeof clock->method, "%s", method);
    clock->map = (fd_clock_map){map[0], map[1], map[2]};
    clock->uncertainty_ns = map[3];
    clock->has_residual = residual != Py_None;
    clock->residual_ns = clock->has_residual ? PyLong_AsLongLong(residual) : 0;
    clock->violations = violations;
    return PyErr_Occurred() == NULL;
}

fd_rank_clock *
fd_take_clocks(PyObject *answer, uint32_t count, int64_t *base_ns)
{
    PyObject *ns;
    PyObject *rows;
    if (!PyArg_Parse(answer, "(OO!)", &ns, &PyList_Type, &rows)) {
        return NULL;
    }
    if (PyList_GET_SIZE(rows) != (Py_ssize_t)count) {
        PyErr_SetString(fd_value_error(), "clocks: one per rank");
        return NULL;
    }
    *base_ns = ns != Py_None ? PyLong_AsLongLong(ns) : 0;
    fd_rank_clock *clocks = fd_calloc((size_t)count + 1, sizeof *clocks);
    if (clocks == NULL) {
        PyErr_NoMemory();
    }
    bool made = clocks != NULL && PyErr_Occurred() == NULL;
    for (uint32_t i = 0; made && i < count; i++) {
        made = fd_take_clock(PyList_GET_ITEM(rows, (Py_ssize_t)i), &clocks[i]);
    }
    if (!made) {
        fd_free(clocks);
        return NULL;
    }
    return clocks;
}
