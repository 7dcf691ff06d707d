/* Reports on pipelines. */
#ifndef FD_PIPELINE_REPORT_BINDING_H
#define FD_PIPELINE_REPORT_BINDING_H

#include "module/state.h"

#include "pipeline/report/pipeline_report.h"

/* pipeline_report(trace, known, *, schedule=None, iterations=None,
 * strict=False, layers=None, weights=None) -> dict */
PyObject *fd_pipeline_report_py(PyObject *module, PyObject *args,
                                PyObject *kwargs);

/* Return tables of a report as columns (pipeline_report_columns.c). */
PyObject *fd_pipeline_ranks_py(const fd_pipe_report *report);
PyObject *fd_pipeline_shares_py(const fd_pipe_report *report);
PyObject *fd_pipeline_intervals_py(const fd_pipe_report *report);
PyObject *fd_pipeline_path_py(const fd_pipe_report *report);
PyObject *fd_pipeline_ifs_py(const fd_pipe_report *report);

/* Return the jobs of the drawn iteration, the open jobs, and the transfers
 * whose other end is missing. */
PyObject *fd_pipeline_jobs_py(const fd_pipe_report *report);
PyObject *fd_pipeline_open_py(const fd_pipe_report *report);
PyObject *fd_pipeline_alone_py(const fd_pipe_report *report);

#endif
