/* Functions on timelines. */
#ifndef FD_TIMELINE_BINDING_H
#define FD_TIMELINE_BINDING_H

#include "events/merge_request.h"
#include "module/state.h"
#include "trace/trace_columns.h"

/* timeline_merge(inputs, output, *, align, ranks, progress) -> list[dict] */
PyObject *fd_timeline_merge_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_slices(inputs, sink, *, align, progress) -> dict */
PyObject *fd_timeline_slices_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* timeline_rows() -> (dict, dict, dict) */
PyObject *fd_timeline_rows_py(PyObject *module, PyObject *unused);

/* timeline_events(path, take, *, progress) -> dict */
PyObject *fd_timeline_events_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* The layout of its rows. */
extern const fd_table fd_event_table;

/* Convert a list of (path, rank) to inputs. The caller frees `paths` and `inputs`, even after an exception. */
bool fd_take_inputs(PyObject *list, PyObject **paths,
                    fd_timeline_input **inputs, uint32_t *count);

#endif
