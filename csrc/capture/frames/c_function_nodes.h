/* Lookup of the node of a called C function, which is identified by its method
 * definition and the class of its `self`. Requires the GIL. */
#ifndef FD_C_FUNCTION_NODES_H
#define FD_C_FUNCTION_NODES_H

#include "capture/state/session_state.h"

/* A called C function. */
typedef struct fd_c_target {
    const PyMethodDef *method;
    PyTypeObject *type; /* class of `self`, or `self` if it is a class; else
                           NULL */
    PyObject *module;   /* borrowed: its module, the module's name, or NULL */
} fd_c_target;

/* Find the C function behind a callable: a built-in function or method, a
 * method descriptor whose first argument is `first` (NULL: unknown), or a
 * bound method of one of these. Return false for all others. */
bool fd_c_target_of(PyObject *callable, PyObject *first, fd_c_target *target);

/* Get the node of a C function, created at its first call. Return false if the
 * call must not be recorded, because the keep filter drops the function or has
 * ended the recording. */
bool fd_c_function_node(fd_thread *thread, const fd_c_target *target,
                        uint32_t *node);

#endif
