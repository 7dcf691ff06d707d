/* The state of the module object. */
#ifndef FD_STATE_H
#define FD_STATE_H

#include <Python.h>

typedef struct fd_module_state {
    PyObject *error;        /* owned; fastdispatch.Error */
    PyTypeObject *session;  /* owned */
    PyTypeObject *dispatch; /* owned */
    PyTypeObject *trace;    /* owned */
    PyTypeObject *label;    /* owned */
    PyTypeObject *job;      /* owned */
    PyTypeObject *plan;     /* owned */
    PyTypeObject *graph;    /* owned */
    PyTypeObject *folder;   /* owned */
} fd_module_state;

static inline fd_module_state *
fd_module_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* Of an object of a type of the module; borrowed. */
static inline PyObject *
fd_module_of(PyObject *self)
{
    return PyType_GetModule(Py_TYPE(self));
}

/* Each part adds its type or functions. -1 with an exception. */
int fd_session_type_init(PyObject *module);
int fd_trace_type_init(PyObject *module);
int fd_dispatch_type_init(PyObject *module);
int fd_label_type_init(PyObject *module);
int fd_job_type_init(PyObject *module);
int fd_ping_types_init(PyObject *module);
int fd_plan_type_init(PyObject *module);
int fd_graph_type_init(PyObject *module);
int fd_folder_type_init(PyObject *module);

#endif
