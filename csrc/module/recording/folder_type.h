/* fastdispatch._core.Folder, and access to files by path. */
#ifndef FD_FOLDER_TYPE_H
#define FD_FOLDER_TYPE_H

#include <Python.h>

#include "base/folder.h"

/* Return the folder of a Folder, or NULL with an exception for other
 * objects. */
const fd_folder *fd_folder_in(PyObject *module, PyObject *object);

/* _core.writer(path), _core.save(path, content). */
PyObject *fd_writer_py(PyObject *module, PyObject *path);
PyObject *fd_save_py(PyObject *module, PyObject *args);

#endif
