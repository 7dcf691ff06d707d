/* The recorded jobs of a pipeline. */
#ifndef FD_PIPELINE_JOBS_BINDING_H
#define FD_PIPELINE_JOBS_BINDING_H

#include "module/state.h"

/* pipeline_jobs(trace, known, *, strict=False) -> dict */
PyObject *fd_pipeline_jobs_py(PyObject *module, PyObject *args,
                              PyObject *kwargs);

#endif
