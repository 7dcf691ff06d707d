/* The files of fastdispatch._core.Session. */
#ifndef FD_SESSION_FILES_H
#define FD_SESSION_FILES_H

#include "capture/session/session.h"

/* Write a recording in memory to a file, for arguments (folder, name); the
 * session has been stopped. None, or NULL with an exception. */
PyObject *fd_session_save(PyObject *self, PyObject *args);

/* Make a session that was not started a segment of a rotated recording, for
 * arguments (seconds, on_rotate, before): the one after the session `before`,
 * or the first. The first step that ends `seconds` after its start calls
 * on_rotate(). None, or NULL with an exception. */
PyObject *fd_session_rotate(PyObject *self, PyObject *args);

#endif
