/* Guards protect the slow paths that use the Python API inside a hook: they
 * save the program's pending exception and errno, keep the hooks from
 * recording calls of this thread, and keep sessions from being freed.
 *
 * There are two kinds. Inside fd_guard_enter, the GIL is kept and no code of
 * the program runs, not even a finaliser, because no garbage collection
 * starts. Inside fd_guard_enter_open, which may be nested in the other kind,
 * code of the program may run, and PyTorch does not compile it. Afterwards, another recording may be active, so
 * compare the generation first. */
#ifndef FD_GUARD_H
#define FD_GUARD_H

#include "capture/process/thread.h"

#include <errno.h>

/* PyTorch's compiler (Dynamo) is an evaluator of frames, too: functions that
 * the recorder calls inside a compiled region would be traced and compiled by
 * it. */

/* Switch Dynamo off for the calling thread. Return its callback, a new
 * reference, or NULL if it is off or not imported. Requires the GIL and no
 * pending exception. */
PyObject *fd_compiler_pause(void);

/* Switch Dynamo on again with the result of fd_compiler_pause; consumes the
 * reference. */
void fd_compiler_resume(PyObject *callback);

typedef struct fd_guard {
    fd_thread *thread;
    int error;
    uint32_t holds; /* number of outer guards that disable the collector */
    bool open;
    bool was_busy;
    uint32_t generation;
    PyObject *compiler; /* owned: of an open guard, fd_compiler_pause */
#if PY_VERSION_HEX >= 0x030C0000 /* 3.12+: an exception is one object */
    PyObject *exception;
#else
    PyObject *type;
    PyObject *value;
    PyObject *traceback;
#endif
} fd_guard;

static inline fd_guard
fd_guard_begin(fd_thread *thread)
{
    fd_guard guard = {.thread = thread, .error = errno};
#if PY_VERSION_HEX >= 0x030C0000
    guard.exception = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&guard.type, &guard.value, &guard.traceback);
#endif
    guard.was_busy = thread->busy;
    thread->busy = true;
    guard.generation = thread->generation;
    thread->generation = 0;
    thread->pins++;
    fd_process.pins++;
    return guard;
}

static inline fd_guard
fd_guard_enter(fd_thread *thread)
{
    fd_guard guard = fd_guard_begin(thread);
    if (fd_process.collector_holds++ == 0) {
        fd_process.collecting = fd_collector_hold();
    }
    return guard;
}

static inline fd_guard
fd_guard_enter_open(fd_thread *thread)
{
    fd_guard guard = fd_guard_begin(thread);
    guard.open = true;
    guard.compiler = fd_compiler_pause();
    guard.holds = fd_process.collector_holds;
    if (guard.holds > 0) {
        fd_process.collector_holds = 0;
        fd_collector_release(fd_process.collecting);
    }
    return guard;
}

static inline void
fd_guard_leave(fd_guard *guard)
{
    fd_compiler_resume(guard->compiler);
    if (guard->open && guard->holds > 0) {
        fd_process.collector_holds = guard->holds;
        fd_process.collecting = fd_collector_hold();
    }
    else if (!guard->open && --fd_process.collector_holds == 0) {
        fd_collector_release(fd_process.collecting);
    }
    guard->thread->pins--;
    fd_process.pins--;
    guard->thread->busy = guard->was_busy;
    guard->thread->generation = guard->generation;
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(guard->exception);
#else
    PyErr_Restore(guard->type, guard->value, guard->traceback);
#endif
    errno = guard->error;
}

#endif
