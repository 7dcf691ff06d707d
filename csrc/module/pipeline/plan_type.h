/* fastdispatch._core.Plan, split over files like Trace. */
#ifndef FD_PLAN_TYPE_H
#define FD_PLAN_TYPE_H

#include <Python.h>

#include "pipeline/schedules/schedule_plan.h"

/* Borrowed from the object. */
const fd_plan *fd_plan_of(PyObject *self);

/* The passes in flight of each stage, at most. */
PyObject *fd_plan_in_flights(const fd_plan *plan);

/* plan_replay.c */
PyObject *fd_plan_replay(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
