#include "module/operands.h"

#include "capture/operands.h"
#include "capture/records.h"
#include "module/errors.h"

PyObject *
fd_session_attach_operands(PyObject *module, fd_session *session,
                           fd_thread *thread, PyObject *args)
{
    unsigned long long tensor;
    unsigned long long storage;
    PyObject *run;
    fd_error error = {""};
    if (!PyArg_ParseTuple(args, "KKO:attach_operands", &tensor, &storage,
                          &run)) {
        return NULL;
    }
    fd_status status = fd_operands_attach(session, thread, tensor, storage,
                                          run, &error);
    if (status != FD_OK) {
        return fd_raise(module, status, &error);
    }
    session->operands = true;
    if (session->running) {
        fd_records_ignore();
        fd_records_listen(session);
    }
    Py_RETURN_NONE;
}
