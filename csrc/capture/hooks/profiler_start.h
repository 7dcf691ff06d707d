/* The call by which the program sets a profile function, while calls of C
 * functions are monitored. CPython reports its end to the new function, which
 * does not happen in a plain run: the call was not monitored when it began.
 * This file skips that one event. Requires the GIL. */
#ifndef FD_PROFILER_START_H
#define FD_PROFILER_START_H

#include "capture/python/pyframe.h"

/* Find the functions of sys that set a profile function. */
void fd_profiler_start_find(void);

/* Handle the start and the end of a call of a C function. */
void fd_profiler_start_called(PyObject *callable);
void fd_profiler_start_returned(void);

#endif
