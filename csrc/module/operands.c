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

PyObject *
fd_session_operator_names(const fd_session *session)
{
    const fd_operator_table *table = session->schemas.table;
    PyObject *names = PyList_New(0);
    for (uint32_t i = 0; names != NULL && table != NULL && i <= table->mask;
         i++) {
        if (table->slots[i].schema == 0) {
            continue;
        }
        PyObject *name = PyUnicode_FromString(fd_strings_text(
            &session->recording->file, table->slots[i].node));
        if (name == NULL || PyList_Append(names, name) < 0) {
            Py_CLEAR(names);
        }
        Py_XDECREF(name);
    }
    return names;
}

PyObject *
fd_session_tell_schema(fd_session *session, PyObject *args)
{
    const char *name;
    const char *text;
    if (!PyArg_ParseTuple(args, "ss:schema", &name, &text)) {
        return NULL;
    }
    fd_recording_schema(session->recording, name, text);
    Py_RETURN_NONE;
}
