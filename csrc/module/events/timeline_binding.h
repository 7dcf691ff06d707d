/* Functions on timelines. */
#ifndef FD_TIMELINE_BINDING_H
#define FD_TIMELINE_BINDING_H

#include "module/state.h"

/* timeline_merge(inputs, output, *, align, ranks, progress) -> list[dict] */
PyObject *fd_timeline_merge_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_stats(inputs, *, ranks, progress) -> dict */
PyObject *fd_timeline_stats_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_check(path, *, progress) -> dict */
PyObject *fd_timeline_check_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_cut(path, output, begin, end, *, steps, progress) -> dict */
PyObject *fd_timeline_cut_py(PyObject *module, PyObject *args,
                             PyObject *kwargs);

/* For an argument: from the name of an alignment to an fd_timeline_align. */
int fd_take_align(PyObject *value, void *to);

#endif
