#include "capture/state/session_state.h"

#include "capture/process/guard.h"
#include "capture/process/thread_names.h"

#include <sys/syscall.h>
#include <unistd.h>

static int
raise_pending(void *error)
{
    fd_put_exception(error);
    return -1;
}

/* Raise an exception that stops the program or a thread once the program
 * continues. Steals the reference. */
static void
raise_in_program(PyObject *error)
{
    if (fd_thread_is_main() && Py_AddPendingCall(raise_pending, error) == 0) {
        return;
    }
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(),
                              (PyObject *)Py_TYPE(error));
    Py_DECREF(error);
}

/* Store the pending exception in the session. */
static void
keep_error(fd_session *session)
{
    PyObject *error = fd_take_exception();
    if (error != NULL
        && !PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        raise_in_program(error);
    }
    else if (session->error == NULL) {
        session->error = error;
    }
    else {
        Py_XDECREF(error);
    }
}

/* Return whether a function was passed by the user, whose tracers may observe
 * it. Those of the recorder are hidden from them. */
static bool
is_of_user(const fd_session *session, const PyObject *function)
{
    return function == session->keep || function == session->on_ready
        || (function == session->schedule && session->partial.budget == 0);
}

PyObject *
fd_session_call(fd_session *session, fd_thread *thread, PyObject *function,
                PyObject *argument)
{
    fd_guard guard = fd_guard_enter_open(thread);
    /* The session may drop its reference during the call. */
    PyObject *called = Py_NewRef(function);
    PyThreadState *hidden =
        is_of_user(session, function) ? NULL : PyThreadState_Get();
    if (hidden != NULL) {
        PyThreadState_EnterTracing(hidden);
    }
    PyObject *result = argument == NULL
                         ? PyObject_CallNoArgs(called)
                         : PyObject_CallOneArg(called, argument);
    if (hidden != NULL) {
        PyThreadState_LeaveTracing(hidden);
    }
    if (result == NULL) {
        keep_error(session);
    }
    Py_DECREF(called);
    fd_guard_leave(&guard);
    return result;
}

void
fd_session_changed(fd_session *session, fd_thread *thread)
{
    if (session->on_change != NULL) {
        Py_XDECREF(fd_session_call(session, thread, session->on_change, NULL));
    }
}

bool
fd_thread_attach(fd_thread *thread, fd_session *session,
                 const char *python_name)
{
    if (thread->serial == session->serial) {
        return thread->tree != NULL;
    }
    char system_name[16] = "";
    char role[FD_ROLE_SIZE];
    uint32_t id = (uint32_t)syscall(SYS_gettid);
    pthread_getname_np(pthread_self(), system_name, sizeof system_name);
    fd_role_of(id == (uint32_t)getpid() ? "MainThread" : python_name,
               system_name, role);
    thread->session = session;
    thread->serial = session->serial;
    thread->ring = NULL;
    thread->ring_refused = false;
    fd_index_clear(&thread->names);
    thread->tree = fd_tree_attach(session->recording, role, id);
    return thread->tree != NULL;
}
