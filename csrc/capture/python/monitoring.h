/* sys.monitoring (PEP 669, Python 3.12 and later): tool id, callbacks and
 * events of the recorder. Requires the GIL. All functions except
 * fd_monitoring_set_local keep a pending exception and set none. */
#ifndef FD_MONITORING_H
#define FD_MONITORING_H

#include "base/status.h"
#include "capture/python/pyframe.h"

/* An event and its callback, a static object that is never freed. */
typedef struct fd_monitored {
    PyObject_HEAD vectorcallfunc call; /* may change at any time */
    const char *event;                 /* a name in sys.monitoring.events */
    bool local; /* enabled per code object; else for all code */
    long bit;   /* event bit; set by fd_monitoring_open */
} fd_monitored;

extern PyTypeObject fd_monitored_type;

/* Begin the definition of a callback. `args`: the code object, an offset, and
 * the result or the exception of PY_RETURN, PY_YIELD, PY_UNWIND and
 * PY_THROW. */
#define FD_MONITOR_CALLBACK(name) \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args, \
                          size_t Py_UNUSED(count), \
                          PyObject *Py_UNUSED(names))

/* Texts for error messages. */
typedef struct fd_monitoring_use {
    const char *option;  /* option of CallGraph that needs the tool id */
    const char *instead; /* alternative if no id is free */
} fd_monitoring_use;

#define FD_MONITORED(event, call, local) \
    { \
        PyObject_HEAD_INIT(&fd_monitored_type) call, event, local, 0 \
    }

/* Claim a tool id and enable these events. Return the id, or -1 if none is
 * free; the message names the tools that use them. */
int fd_monitoring_open(fd_monitoring_use use, fd_monitored *events,
                       size_t count, fd_error *error);

/* Return an attribute of sys.monitoring ("MISSING", "DISABLE"), borrowed, or
 * NULL if there is no memory. */
PyObject *fd_monitoring_constant(const char *name);

/* Enable or disable the events that are not local; keep the id. Return false
 * if there is no memory. */
bool fd_monitoring_switch(int tool, const fd_monitored *events, size_t count,
                          bool on);

/* Report disabled locations again, of all tools of the process: locations that
 * a tool has disabled stay so for the next tool with its id. */
void fd_monitoring_restart(void);

/* Release the id, if there is one, and set it to -1. Local events must have
 * been removed. */
void fd_monitoring_close(int *tool, const fd_monitored *events, size_t count);

/* Set the local events of a code object. Return -1 with an exception on
 * failure. */
int fd_monitoring_set_local(int tool, PyCodeObject *code, long events);

#endif
