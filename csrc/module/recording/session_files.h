/* Methods of fastdispatch._core.Session for its files. */
#ifndef FD_SESSION_FILES_H
#define FD_SESSION_FILES_H

#include "capture/session/session.h"

/* Write the recording in memory of a stopped session to a file; arguments
 * (folder, name). Return None, or NULL with an exception. */
PyObject *fd_session_save(PyObject *self, PyObject *args);

/* Make a session that was not started a segment of a rotated recording;
 * arguments (seconds, on_rotate, before). It follows the session `before`, or
 * is the first. The first step that ends `seconds` after its start calls
 * on_rotate(). Return None, or NULL with an exception. */
PyObject *fd_session_rotate(PyObject *self, PyObject *args);

#endif
