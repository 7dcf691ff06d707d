/* fastdispatch._core.Plan, split over files like Trace. */
#ifndef FD_PLAN_TYPE_H
#define FD_PLAN_TYPE_H

#include <Python.h>

#include "pipeline/schedules/schedule_plan.h"

/* Return the plan of a Plan, borrowed. */
const fd_plan *fd_plan_of(PyObject *self);

/* Method in plan_replay.c. */
PyObject *fd_plan_replay(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
