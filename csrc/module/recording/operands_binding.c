#include "module/recording/operands_binding.h"

#include "capture/memory/memory_reports.h"
#include "capture/operands/operands.h"
#include "capture/operators/records.h"
#include "module/errors.h"

PyObject *
fd_session_attach_operands(PyObject *self, PyObject *args)
{
    fd_session *session = fd_session_of(self);
    fd_thread *thread = fd_thread_get();
    PyObject *tensor;
    unsigned long long places[3];
    PyObject *run;
    PyObject *on_model;
    fd_error error = {""};
    if (thread == NULL) {
        return PyErr_NoMemory();
    }
    if (!PyArg_ParseTuple(args, "O(KKK)OO:attach_operands", &tensor,
                          &places[0], &places[1], &places[2], &run,
                          &on_model)) {
        return NULL;
    }
    fd_operands_sample sample = {tensor, places[0], places[1], places[2]};
    fd_status status =
        fd_operands_attach(session, thread, &sample, run, &error);
    if (status != FD_OK) {
        return fd_raise(fd_module_of(self), status, &error);
    }
    if (on_model != Py_None) {
        Py_XSETREF(session->tensor, Py_NewRef(Py_TYPE(tensor)));
        Py_XSETREF(session->on_model, Py_NewRef(on_model));
        session->operands = true;
    }
    session->measures.ready = true;
    if (session->running) {
        fd_records_listen(session);
    }
    Py_RETURN_NONE;
}

PyObject *
fd_session_name_group(PyObject *self, PyObject *args)
{
    fd_session *session = fd_session_of(self);
    fd_recording *recording = session->recording;
    unsigned long long address;
    const char *text;
    if (!PyArg_ParseTuple(args, "Ks:name_group", &address, &text)) {
        return NULL;
    }
    pthread_mutex_lock(&recording->lock);
    uint32_t id = fd_strings_add(&recording->strings, text, strlen(text));
    pthread_mutex_unlock(&recording->lock);
    if (id != 0) {
        fd_group_names_put(&session->groups, address, id);
    }
    Py_RETURN_NONE;
}

PyObject *
fd_session_attach_memory(PyObject *self, PyObject *probe)
{
    fd_thread *thread = fd_thread_get();
    fd_error error = {""};
    fd_status status = thread == NULL
                         ? FD_ENOMEM
                         : fd_memory_reports_begin(fd_session_of(self), thread,
                                                   probe, &error);
    return fd_none_or_raise(fd_module_of(self), status, &error);
}
