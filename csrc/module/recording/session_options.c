#include "module/recording/session_options.h"

#include <string.h>

int
fd_session_add_prefixes(fd_session *session, PyObject *prefixes)
{
    PyObject *list = PySequence_Fast(prefixes, "prefixes must be a sequence");
    if (list == NULL) {
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        const char *prefix;
        int from;
        if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list, i), "si", &prefix,
                              &from)) {
            result = -1;
            break;
        }
        if (fd_paths_add(&session->paths, prefix, (uint8_t)from) != FD_OK) {
            PyErr_NoMemory();
            result = -1;
            break;
        }
    }
    Py_DECREF(list);
    return result;
}

int
fd_session_timeline(PyObject *value, void *to)
{
    fd_timeline *timeline = to;
    int overwrites;
    int numbers;
    int spill_mb;
    double shortest[FD_TIMELINE_KINDS];
    if (value == Py_None) {
        return 1;
    }
    if (!PyArg_ParseTuple(
            value, "pipdddd", &overwrites, &spill_mb, &numbers,
            &shortest[FD_TIMELINE_PYTHON], &shortest[FD_TIMELINE_OPS],
            &shortest[FD_TIMELINE_RANGES], &shortest[FD_TIMELINE_JOBS])) {
        return 0;
    }
    timeline->on = true;
    timeline->overwrites = overwrites != 0;
    timeline->numbers = numbers != 0;
    timeline->max_spill =
        (size_t)(spill_mb < 0                 ? 0
                 : spill_mb < FD_MAX_SPILL_MB ? spill_mb
                                              : FD_MAX_SPILL_MB)
        << 20;
    for (int i = 0; i < FD_TIMELINE_KINDS; i++) {
        timeline->shortest[i] =
            shortest[i] < 0 ? UINT64_MAX
                            : (uint64_t)(shortest[i] * fd_clock_hertz() / 1e9);
    }
    return 1;
}

int
fd_session_globs(fd_timer_plan *plan, PyObject *globs)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(globs); i++) {
        Py_ssize_t size;
        const char *text =
            PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(globs, i), &size);
        char *copy = text == NULL ? NULL : fd_malloc((size_t)size + 1);
        if (copy == NULL || fd_vector_push(&plan->globs, copy) != FD_OK) {
            fd_free(copy);
            return text == NULL ? -1 : (PyErr_NoMemory(), -1);
        }
        memcpy(copy, text, (size_t)size + 1);
    }
    return 0;
}
