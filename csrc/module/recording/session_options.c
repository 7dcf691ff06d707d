#include "module/recording/session_options.h"

#include "capture/python/utf8_text.h"

#include <string.h>

int
fd_session_add_prefixes(fd_session *session, PyObject *prefixes)
{
    PyObject *list = PySequence_Fast(prefixes, "prefixes must be a sequence");
    if (list == NULL) {
        return -1;
    }
    int result = 0;
    for (Py_ssize_t i = 0; result == 0 && i < PySequence_Fast_GET_SIZE(list);
         i++) {
        PyObject *path;
        int from;
        PyObject *prefix = PyArg_ParseTuple(PySequence_Fast_GET_ITEM(list, i),
                                            "Ui", &path, &from)
                             ? fd_utf8_text(path)
                             : NULL;
        result = prefix == NULL ? -1 : 0;
        if (prefix != NULL
            && fd_paths_add(&session->paths, PyUnicode_AsUTF8(prefix),
                            (uint8_t)from)
                   != FD_OK) {
            PyErr_NoMemory();
            result = -1;
        }
        Py_XDECREF(prefix);
    }
    Py_DECREF(list);
    return result;
}

int
fd_session_timeline(PyObject *options, void *to)
{
    static char *names[] = {"overwrites", "numbers", "python", "ops",
                            "ranges",     "jobs",    NULL};
    int overwrites = 0;
    int numbers = 0;
    double shortest[FD_TIMELINE_KINDS] = {-1, -1, -1, -1};
    if (options == Py_None) {
        return 1;
    }
    PyObject *nothing = PyTuple_New(0);
    bool parsed =
        nothing != NULL
        && PyArg_ParseTupleAndKeywords(
            nothing, options, "|$ppdddd:timeline", names, &overwrites,
            &numbers, &shortest[FD_TIMELINE_PYTHON],
            &shortest[FD_TIMELINE_OPS], &shortest[FD_TIMELINE_RANGES],
            &shortest[FD_TIMELINE_JOBS]);
    Py_XDECREF(nothing);
    *(fd_timeline *)to = (fd_timeline){
        .on = true, .overwrites = overwrites != 0, .numbers = numbers != 0};
    for (int i = 0; i < FD_TIMELINE_KINDS; i++) {
        double ns = shortest[i];
        ((fd_timeline *)to)->shortest[i] =
            ns < 0 ? UINT64_MAX : (uint64_t)(ns * fd_clock_hertz() / 1e9);
    }
    return parsed;
}

int
fd_session_globs(fd_timer_plan *plan, PyObject *globs)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(globs); i++) {
        PyObject *glob = fd_utf8_text(PyList_GET_ITEM(globs, i));
        if (glob == NULL) {
            return -1;
        }
        const char *text = PyUnicode_AsUTF8(glob);
        size_t size = strlen(text) + 1;
        char *copy = fd_malloc(size);
        if (copy != NULL) {
            memcpy(copy, text, size);
        }
        Py_DECREF(glob);
        if (copy == NULL || fd_vector_push(&plan->globs, copy) != FD_OK) {
            fd_free(copy);
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}
