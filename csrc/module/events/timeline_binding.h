/* Functions on timelines. */
#ifndef FD_TIMELINE_BINDING_H
#define FD_TIMELINE_BINDING_H

#include "events/merge_request.h"
#include "events/stats/event_rows.h"
#include "module/state.h"

/* timeline_survey(path, *, first, take) -> dict */
PyObject *fd_timeline_survey_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* timeline_merge(inputs, output, *, ...) -> list[dict] */
PyObject *fd_timeline_merge_py(PyObject *module, PyObject *args,
                               PyObject *kwargs);

/* timeline_rows() -> (dict, dict) */
PyObject *fd_timeline_rows_py(PyObject *module, PyObject *unused);

/* timeline_events(path, take, *, progress) -> dict */
PyObject *fd_timeline_events_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* Call `take` with rows and the texts from number `*passed` + 1 on, which is
 * moved to the last one. */
PyObject *fd_give_rows(PyObject *take, const fd_event_row *rows,
                       uint32_t count, const fd_text_pool *texts,
                       uint32_t *passed);

/* Convert rows of fd_transfer_end, borrowed from a bytes object; NULL: no
 * table. */
fd_transfers fd_take_transfers(PyObject *bytes);

#endif
