/* Functions on timelines. */
#ifndef FD_TIMELINE_BINDING_H
#define FD_TIMELINE_BINDING_H

#include "events/merge_request.h"
#include "module/state.h"
#include "trace/trace_columns.h"

/* timeline_survey(path, *, first, moments) -> dict */
PyObject *fd_timeline_survey_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* timeline_merge(inputs, output, *, ...) -> list[dict] */
PyObject *fd_timeline_merge_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_slices(inputs, sink, *, progress, total) -> dict */
PyObject *fd_timeline_slices_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* timeline_rows() -> (dict, dict, dict, dict) */
PyObject *fd_timeline_rows_py(PyObject *module, PyObject *unused);

/* timeline_events(path, take, *, progress) -> dict */
PyObject *fd_timeline_events_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* Convert rows of fd_transfer_end, borrowed from a bytes object; NULL: no
 * table. */
fd_transfers fd_take_transfers(PyObject *bytes);

/* The layout of its rows. */
extern const fd_table fd_event_table;

/* Convert a list of dicts, whose texts the inputs borrow, to inputs, which the
 * caller frees. Return NULL with an exception on failure. */
fd_timeline_input *fd_take_inputs(PyObject *list, uint32_t *count);

/* Return the results of inputs as a list of dicts. */
PyObject *fd_input_results(const fd_timeline_input *inputs, uint32_t count);

#endif
