#include "module/recording/session_files.h"

#include "module/errors.h"
#include "module/recording/folder_type.h"
#include "module/recording/operands_binding.h"
#include "recording/recording.h"

PyObject *
fd_session_save(PyObject *self, PyObject *args)
{
    PyObject *holder;
    PyObject *name;
    fd_error error = {""};
    if (!PyArg_ParseTuple(args, "OO&:save", &holder, PyUnicode_FSConverter,
                          &name)) {
        return NULL;
    }
    const fd_folder *folder = fd_folder_in(fd_module_of(self), holder);
    fd_status status = FD_OK;
    if (folder != NULL) {
        status = fd_file_save(&fd_session_of(self)->recording->file, folder,
                              PyBytes_AS_STRING(name), &error);
    }
    Py_DECREF(name);
    return folder == NULL
             ? NULL
             : fd_none_or_raise(fd_module_of(self), status, &error);
}

PyObject *
fd_session_rotate(PyObject *self, PyObject *args)
{
    fd_session *session = fd_session_of(self);
    double seconds;
    PyObject *on_rotate;
    PyObject *before = NULL;
    if (!PyArg_ParseTuple(args, "dO|O!:rotate", &seconds, &on_rotate,
                          Py_TYPE(self), &before)) {
        return NULL;
    }
    double ticks = seconds * fd_clock_hertz();
    session->rotate_after = ticks < 1e18 ? (uint64_t)ticks : UINT64_MAX / 2;
    Py_XSETREF(session->on_rotate, Py_NewRef(on_rotate));
    if (before != NULL) {
        fd_session_follow(session, fd_session_of(before));
    }
    else {
        fd_file_header(&session->recording->file)->segment = 1;
    }
    Py_RETURN_NONE;
}
