/* Simulation of plans. */
#ifndef FD_REPLAY_BINDING_H
#define FD_REPLAY_BINDING_H

#include "module/state.h"

/* replay(schedule, rows, first, times, *, ...) -> dict */
PyObject *fd_replay_py(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
