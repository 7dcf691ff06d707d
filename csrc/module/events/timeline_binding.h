/* Functions on timelines. */
#ifndef FD_TIMELINE_BINDING_H
#define FD_TIMELINE_BINDING_H

#include "events/alignment/clock_alignment.h"
#include "module/state.h"

/* timeline_merge(inputs, output, *, align, ranks, progress) -> list[dict] */
PyObject *fd_timeline_merge_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_slices(inputs, sink, *, align, ranks, progress) -> dict */
PyObject *fd_timeline_slices_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* timeline_rows() -> (dict, dict) */
PyObject *fd_timeline_rows_py(PyObject *module, PyObject *unused);

/* timeline_check(path, *, progress) -> dict */
PyObject *fd_timeline_check_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* Convert a list of (path, rank) to inputs. The caller frees `paths` and `inputs`, even after an exception. */
bool fd_take_inputs(PyObject *list, PyObject **paths,
                    fd_timeline_input **inputs, uint32_t *count);

/* Convert a list of ranks or devices to an array; None: all, and `numbers` is
 * NULL. */
bool fd_take_ranks(PyObject *list, const char *name, uint32_t **numbers,
                   size_t *count);

/* Converter for PyArg_Parse: from the name of an alignment to an
 * fd_timeline_align. */
int fd_take_align(PyObject *value, void *to);

#endif
