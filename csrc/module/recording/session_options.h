/* Conversion of the arguments of fastdispatch._core.Session. Each function
 * sets an exception when it fails. */
#ifndef FD_SESSION_OPTIONS_H
#define FD_SESSION_OPTIONS_H

#include "capture/session/session.h"

/* Add [(prefix, from), ...] to the session's paths. Return -1 on failure. */
int fd_session_add_prefixes(fd_session *session, PyObject *prefixes);

/* Converter for PyArg_Parse: None, or a dict of overwrites, numbers, and the
 * minimum durations (ns) of python, ops, ranges and jobs; others are excluded.
 * `to` is an fd_timeline. Return 0 on failure. */
int fd_session_timeline(PyObject *options, void *to);

/* Copy the strings of a list. Return -1 on failure. */
int fd_session_globs(fd_timer_plan *plan, PyObject *globs);

#endif
