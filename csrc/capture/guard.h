/* Around every piece of slow path that uses the Python API inside a hook: the
 * program's pending exception is put aside, the collector is held off, so that
 * no finaliser of the program runs in the middle of our bookkeeping, and the
 * hooks leave out what this thread calls meanwhile. */
#ifndef FD_GUARD_H
#define FD_GUARD_H

#include "capture/thread.h"

typedef struct fd_guard {
    fd_thread *thread;
    int collector_was_on;
    bool was_busy;
    uint32_t generation;
#if PY_VERSION_HEX >= 0x030C0000 /* exceptions became one object */
    PyObject *exception;
#else
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
#endif
} fd_guard;

static inline fd_guard
fd_guard_enter(fd_thread *thread)
{
    fd_guard guard = {.thread = thread};
#if PY_VERSION_HEX >= 0x030C0000
    guard.exception = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&guard.type, &guard.value, &guard.traceback);
#endif
    guard.collector_was_on = PyGC_Disable();
    guard.was_busy = thread->busy;
    thread->busy = true;
    guard.generation = thread->generation;
    thread->generation = 0;
    return guard;
}

static inline void
fd_guard_leave(fd_guard *guard)
{
    guard->thread->busy = guard->was_busy;
    guard->thread->generation = guard->generation;
    if (guard->collector_was_on) {
        PyGC_Enable();
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(guard->exception);
#else
    PyErr_Restore(guard->type, guard->value, guard->traceback);
#endif
}

#endif
